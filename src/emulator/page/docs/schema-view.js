import { copyOf, setText, make } from "../../../page/dom.js";
import { toCount } from "../../../page/format.js";
import { fieldsOf, objectsOf, rulesOf, typeOf } from "./schema.js";

/** @typedef {import("./api-document.js").Schema} Schema */

/** An object with more fields, or one that deep, is closed at first. */
const MAX_OPEN_FIELDS = 12;
const MAX_OPEN_DEPTH = 1;

/**
 * A schema in a `details` with its type, whose content is made when it is opened first: a schema may contain itself.
 *
 * @param {Schema} schema
 * @param {{ summary?: readonly (Node | string)[], isOpen?: boolean, depth?: number }} options
 */
export function createSchemaView(schema, { summary = [], isOpen = true, depth = 0 }) {
  const { root, part } = copyOf("schema-template");
  const objects = objectsOf(schema);
  const count = objects.reduce((sum, one) => sum + fieldsOf(one).fields.length, 0);
  const parts = [...(depth === 0 ? [typeOf(schema)] : []), ...(count > 0 ? [toCount(count, "field")] : [])];
  part("summary").append(...summary);
  setText(part("type"), parts.join(", "));
  let isEmpty = true;
  const fill = () => {
    if (!root.open || !isEmpty) return;
    isEmpty = false;
    if (objects.length === 0) root.append(make("p", {}, rulesOf(schema).join("; ") || typeOf(schema)));
    for (const [index, object] of objects.entries()) {
      if (index > 0) root.append(make("p", {}, "or"));
      root.append(createFields(object, depth));
    }
  };
  root.addEventListener("toggle", fill);
  root.open = isOpen && count <= MAX_OPEN_FIELDS && depth <= MAX_OPEN_DEPTH;
  fill();
  return root;
}

/**
 * @param {Schema} object
 * @param {number} depth
 */
function createFields(object, depth) {
  const list = document.createElement("ul");
  list.className = "fields-list";
  const { fields, isOpen } = fieldsOf(object);
  list.append(...fields.map((field) => createField(field, depth)));
  if (isOpen) list.append(make("li", {}, fields.length === 0 ? "Any fields." : "Other fields are allowed."));
  return list;
}

/**
 * @param {{ name: string, schema: Schema, isRequired: boolean }} field
 * @param {number} depth
 */
function createField({ name, schema, isRequired }, depth) {
  const { root, part } = copyOf("field-template");
  setText(part("name"), name);
  if (!isRequired) part("required").remove();
  setText(part("type"), typeOf(schema));
  setText(part("rules"), [schema["description"] ?? "", ...rulesOf(schema)].filter((one) => one !== "").join("; "));
  const isNested = objectsOf(schema).some((one) => fieldsOf(one).fields.length > 0);
  if (isNested) root.append(createSchemaView(schema, { depth: depth + 1 }));
  return root;
}
