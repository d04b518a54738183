// In place of the native part of aws-lambda-ric, `rapid-client.node`, which is built with curl and autotools: it posts the result of an
// invocation. The runtime's own JavaScript, which has a switch for that, asks for the next one.
// oxlint-disable eslint/no-underscore-dangle -- Node names it so
import Module from "node:module";

const invocations = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation`;

function post(path, body) {
  void fetch(`${invocations}/${path}`, { method: "POST", body });
}

const client = {
  done: (id, body) => post(`${id}/response`, body),
  error: (id, body) => post(`${id}/error`, body),
};

const load = Module._load;
Module._load = (request, ...rest) => (request === "./rapid-client.node" ? client : load(request, ...rest));
