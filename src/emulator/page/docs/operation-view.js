import { copyOf, setText, make } from "../../../page/dom.js";
import { rulesOf, typeOf } from "./schema.js";
import { createSchemaView } from "./schema-view.js";
import { createTryForm } from "./try-form.js";

/** @typedef {import("./api-document.js").Operation} Operation */
/** @typedef {import("./api-document.js").Parameter} Parameter */
/** @typedef {import("./try-form.js").Page} Page */

/**
 * One operation in a `details`, whose content is made when it is opened first.
 *
 * @param {Operation} operation
 * @param {Page} page
 * @returns {HTMLDetailsElement}
 */
export function createOperationView(operation, page) {
  const { root, part } = copyOf("operation-template");
  root.id = operation.id;
  setText(part("method"), operation.method);
  part("method").dataset.method = operation.method;
  setText(part("path"), operation.path);
  part("summary").append(...withCode(operation.summary));
  let isEmpty = true;
  root.addEventListener("toggle", () => {
    if (!root.open || !isEmpty) return;
    isEmpty = false;
    root.append(createContent(operation, page));
  });
  return root;
}

/**
 * @param {Operation} operation
 * @param {Page} page
 */
function createContent(operation, page) {
  const { auth, parameters, body, answers } = operation;
  const { root, part } = copyOf("content-template");
  part("auth").append(...authText(auth));
  part("parameters").hidden = parameters.length === 0;
  part("rows").append(...parameters.map(createRow));
  if (body !== undefined) part("body").append(createSchemaView(body, { summary: ["Body"] }));
  for (const { status, description, schema } of answers) {
    const summary = [make("strong", {}, status === "default" ? "others" : status), " ", ...withCode(description)];
    const item = document.createElement("li");
    if (schema === undefined) item.append(...summary);
    else item.append(createSchemaView(schema, { summary, isOpen: status.startsWith("2") }));
    part("answers").append(item);
  }
  part("try").append(createTryForm(operation, page));
  return root;
}

/** @param {Operation["auth"]} auth */
function authText(auth) {
  if (auth === undefined) return ["No authentication."];
  const kind = auth.scheme === "bearer" ? "Bearer token" : "Basic authentication";
  return [`${kind}. `, ...withCode(auth.description ?? "")];
}

/** @param {Parameter} parameter */
function createRow({ name, in: place, required, description, schema }) {
  const { root, part } = copyOf("parameter-template");
  setText(part("name"), name);
  setText(part("place"), place);
  setText(part("type"), typeOf(schema));
  setText(part("required"), required === true ? "yes" : "no");
  const text = [description ?? schema["description"] ?? "", ...rulesOf(schema)].filter((one) => one !== "").join("; ");
  setText(part("rules"), text);
  return root;
}

/**
 * Text, of which every second part between backticks is code.
 *
 * @param {string} text
 */
function withCode(text) {
  return text.split("`").map((part, index) => (index % 2 === 0 ? part : make("code", {}, part)));
}
