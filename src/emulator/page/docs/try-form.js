import { exchange } from "../api.js";
import { copyOf, fillPairs, setText } from "../../../page/dom.js";
import { toCurl, toDuration, toReadable } from "../../../page/format.js";
import { rulesOf, sampleOf, typeOf } from "./schema.js";

/** @typedef {import("./api-document.js").Operation} Operation */
/** @typedef {import("./api-document.js").Parameter} Parameter */
/** @typedef {import("./api-document.js").Schema} Schema */
/**
 * @typedef {object} Page What all forms share.
 * @property {ReturnType<typeof import("./credentials.js").createCredentials>} credentials
 * @property {(text: string, what: string) => void} copy
 */

const SHOWN_HEADERS = ["content-type", "etag", "location", "retry-after", "allow"];

/**
 * Sends an operation's request, and shows it as a command.
 *
 * @param {Operation} operation
 * @param {Page} page
 * @returns {HTMLElement}
 */
export function createTryForm(operation, { credentials, copy }) {
  const { method, auth, parameters, body } = operation;
  const { root, part } = copyOf("try-template");
  const form = part("form");
  const user = auth && credentials.create(auth, showCommand);
  if (user !== undefined) part("credentials").append(user.root);
  const fields = parameters.map(createField);
  part("parameters").append(...fields.map(({ label }) => label));
  part("body-label").hidden = body === undefined;
  if (body !== undefined) {
    const sample = JSON.stringify(sampleOf(body), undefined, 2);
    part("body").value = sample;
    part("body").rows = Math.min(sample.split("\n").length, 16);
  }
  let isAsking = false;

  function request() {
    let { path } = operation;
    const query = new URLSearchParams();
    /** @type {Record<string, string>} */
    const headers = {};
    const authorization = user?.authorization();
    if (authorization !== undefined) headers["Authorization"] = authorization;
    for (const { name, place, isList, field } of fields) {
      if (field.value === "") continue;
      if (place === "path") path = path.replace(`{${name}}`, () => encodeURIComponent(field.value));
      else if (place === "header") headers[name] = field.value;
      else for (const value of isList ? field.value.split("\n") : [field.value]) query.append(name, value);
    }
    if (query.size > 0) path += `?${query}`;
    const sent = body === undefined || part("body").value === "" ? undefined : part("body").value;
    if (sent !== undefined) headers["Content-Type"] = "application/json";
    return { method, path, headers, body: sent };
  }

  function showCommand() {
    const { path, ...rest } = request();
    setText(part("command"), toCurl({ url: location.origin + path, ...rest }));
  }

  async function send() {
    showStatus("Sending…", "");
    part("answer").hidden = true;
    const { path, body: sent, ...rest } = request();
    const start = performance.now();
    try {
      // Only the fields above say who calls, and a page elsewhere cannot be followed from here.
      const options = { ...rest, body: sent ?? null, credentials: "omit", redirect: "manual" };
      const { response, text } = await exchange(path, /** @type {RequestInit} */ (options));
      showAnswer(response, text, toDuration(performance.now() - start));
    } catch (error) {
      showStatus(/** @type {Error} */ (error).message, "bad");
    }
  }

  /**
   * @param {Response} response
   * @param {string} received
   * @param {string} duration
   */
  function showAnswer(response, received, duration) {
    if (response.type === "opaqueredirect")
      return showStatus("A redirect, which a browser does not show here. The command above shows it.", "good");
    showStatus(
      `Status ${`${response.status} ${response.statusText}`.trim()}, after ${duration}`,
      response.ok ? "good" : "bad",
    );
    const pairs = SHOWN_HEADERS.map((name) => [name, response.headers.get(name)]).filter(([, value]) => value !== null);
    part("headers").replaceChildren();
    fillPairs(part("headers"), Object.fromEntries(pairs));
    const { text, size } = toReadable(received);
    setText(part("size"), size);
    setText(part("answer-body"), text);
    part("answer-body").hidden = text === "";
    part("answer").hidden = false;
  }

  /**
   * @param {string} text
   * @param {"good" | "bad" | ""} kind
   */
  function showStatus(text, kind) {
    setText(part("status"), text);
    part("status").dataset.kind = kind;
  }

  form.addEventListener("input", showCommand);
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    if (isAsking) return;
    isAsking = true;
    void send().then(() => (isAsking = false));
  });
  part("copy").addEventListener("click", () => copy(part("command").textContent, "the command"));
  showCommand();
  return root;
}

/**
 * A field in its label. A query's or a header's that is empty is not sent.
 *
 * @param {Parameter} parameter
 */
function createField({ name, in: place, required, schema }) {
  const { root, part } = copyOf("input-template");
  setText(part("name"), name);
  setText(part("place"), required === true ? `${place}, required` : place);
  const isList = schema["type"] === "array";
  const field = createInput(schema, isList);
  field.setAttribute("autocomplete", "off");
  // Without it the path would be another one. The rest may be left out, to see how that is refused.
  field.required = place === "path";
  root.append(field);
  return { label: root, name, place, isList, field };
}

/**
 * @param {Schema} schema
 * @param {boolean} isList
 */
function createInput(schema, isList) {
  const values = schema["enum"] ?? (schema["type"] === "boolean" ? ["true", "false"] : []);
  if (values.length > 0) {
    const select = document.createElement("select");
    const options = values.filter((/** @type {string} */ value) => value !== "");
    select.append(new Option("not sent", ""), ...options.map((/** @type {string} */ value) => new Option(value)));
    return select;
  }
  const input = document.createElement(isList ? "textarea" : "input");
  input.spellcheck = false;
  input.placeholder = isList ? "one a line" : [typeOf(schema), ...rulesOf(schema)].join("; ");
  return input;
}
