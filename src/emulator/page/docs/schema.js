/** @typedef {import("./api-document.js").Schema} Schema */

/** A schema may contain itself. */
const MAX_DEPTH = 6;

/**
 * `string`, `array of object`, `string or null`
 *
 * @param {Schema} schema
 * @returns {string}
 */
export function typeOf(schema, depth = 0) {
  if (depth > MAX_DEPTH) return "…";
  if ("const" in schema) return JSON.stringify(schema["const"]);
  const alternatives = alternativesOf(schema);
  if (alternatives.length > 0) return [...new Set(alternatives.map((one) => typeOf(one, depth + 1)))].join(" or ");
  const { type = isObject(schema) ? "object" : "any", items = {}, format } = schema;
  if (Array.isArray(type)) return type.map((one) => typeOf({ ...schema, type: one }, depth + 1)).join(" or ");
  if (type === "array") return `array of ${typeOf(items, depth + 1)}`;
  return format === undefined || type !== "string" ? type : `string (${format})`;
}

/**
 * What a value must be beyond its type, and what it is when it is missing.
 *
 * @param {Schema} schema
 * @returns {string[]}
 */
export function rulesOf(schema, depth = 0) {
  if (depth > MAX_DEPTH) return [];
  const { enum: values, pattern, format } = schema;
  const rules = [
    ...(values === undefined ? [] : [`one of ${values.map(toJson).join(", ")}`]),
    ...LIMITS.filter(([name]) => Math.abs(schema[name]) < MAX_LIMIT).map(([name, words]) => `${words} ${schema[name]}`),
    // The pattern of a format says what its name says.
    ...(pattern === undefined || format !== undefined ? [] : [patternText(pattern)]),
    ...("default" in schema ? [`default ${toJson(schema["default"])}`] : []),
  ];
  const inner = [...alternativesOf(schema), ...(schema["items"] === undefined ? [] : [schema["items"]])];
  return [...new Set([...rules, ...inner.flatMap((one) => rulesOf(one, depth + 1))])];
}

/** Of integers: no limit that somebody has thought of. */
const MAX_LIMIT = Number.MAX_SAFE_INTEGER;

const LIMITS = /** @type {const} */ ([
  ["minimum", "at least"],
  ["exclusiveMinimum", "more than"],
  ["maximum", "at most"],
  ["exclusiveMaximum", "less than"],
  ["minLength", "characters: at least"],
  ["maxLength", "characters: at most"],
  ["minItems", "items: at least"],
  ["maxItems", "items: at most"],
]);

/**
 * The objects in a schema, behind lists and alternatives. More than one are alternatives.
 *
 * @param {Schema} schema
 * @returns {Schema[]}
 */
export function objectsOf(schema, depth = 0) {
  if (depth > MAX_DEPTH) return [];
  if (isObject(schema)) return [schema];
  const inner = [...alternativesOf(schema), ...(schema["items"] === undefined ? [] : [schema["items"]])];
  return inner.flatMap((one) => objectsOf(one, depth + 1));
}

/**
 * The fields of an object, and whether it may have others.
 *
 * @param {Schema} schema
 * @returns {{ fields: { name: string, schema: Schema, isRequired: boolean }[], isOpen: boolean }}
 */
export function fieldsOf({ properties = {}, required = [], additionalProperties: others = true }) {
  const fields = Object.entries(properties).map(([name, schema]) => ({
    name,
    schema,
    isRequired: required.includes(name),
  }));
  const isTyped = typeof others === "object" && Object.keys(others).length > 0;
  if (isTyped) fields.push({ name: "any name", schema: others, isRequired: false });
  return { fields, isOpen: others !== false && !isTyped };
}

/**
 * A value to begin with: the required fields, or all where none is required.
 *
 * @param {Schema} schema
 * @param {readonly string[]} path the names of the fields that lead to it
 * @returns {unknown}
 */
export function sampleOf(schema, path = ["text"], depth = 0) {
  if (depth > MAX_DEPTH) return null;
  if ("default" in schema) return schema["default"];
  if ("const" in schema) return schema["const"];
  if (schema["enum"] !== undefined) return schema["enum"][0];
  const [alternative] = alternativesOf(schema);
  if (alternative !== undefined) return sampleOf(alternative, path, depth + 1);
  const { type, items = {}, minimum = 0 } = schema;
  switch (Array.isArray(type) ? type[0] : type) {
    case "array":
      return [sampleOf(items, path, depth + 1)];
    case "integer":
    case "number":
      return Math.max(0, minimum);
    case "boolean":
      return true;
    case "null":
      return null;
    case "string":
      return sampleText(schema, path);
    default:
      return isObject(schema) || type === "object" ? sampleObject(schema, path, depth) : {};
  }
}

/** By a format, or by the name of a field. */
const SAMPLES = new Map([
  ["date-time", "2026-01-20T09:00:00Z"],
  ["date", "2026-01-20"],
  ["email", "ada@example.com"],
  ["address", "ada@example.com"],
  ["uri", "http://127.0.0.1:3000/webhooks"],
  ["notificationUrl", "http://127.0.0.1:3000/webhooks"],
  ["resource", "/email/messages"],
  ["timezone", "Europe/London"],
  ["base64", "SGVsbG8="],
]);

/** @param {string} pattern */
function sampleLike(pattern) {
  return [...SAMPLES.values()].find((text) => new RegExp(pattern, "u").test(text));
}

/** Nobody reads a long one. @param {string} pattern */
function patternText(pattern) {
  const sample = pattern.length > 60 ? sampleLike(pattern) : undefined;
  return sample === undefined ? `like ${pattern}` : `such as ${sample}`;
}

/**
 * Its name, unless it must be something else.
 *
 * @param {Schema} schema
 * @param {readonly string[]} path
 */
function sampleText({ format, pattern }, path) {
  const name = path.at(-1) ?? "";
  const like = pattern === undefined ? undefined : sampleLike(pattern);
  const text = SAMPLES.get(format) ?? SAMPLES.get(name) ?? like ?? name;
  // What ends does so after it has begun.
  return path.some((one) => /end|max/i.test(one)) ? text.replace("T09:", "T10:") : text;
}

/**
 * @param {Schema} schema
 * @param {readonly string[]} path
 * @param {number} depth
 */
function sampleObject(schema, path, depth) {
  const { properties = {}, required = [] } = schema;
  /** @type {string[]} */
  const names = required.length > 0 ? required : Object.keys(properties);
  return Object.fromEntries(names.map((name) => [name, sampleOf(properties[name] ?? {}, [...path, name], depth + 1)]));
}

/** @param {Schema} schema */
function isObject({ properties, additionalProperties: others }) {
  return properties !== undefined || typeof others === "object";
}

/**
 * @param {Schema} schema
 * @returns {Schema[]}
 */
function alternativesOf({ anyOf = [], oneOf = [] }) {
  return [...anyOf, ...oneOf];
}

/** @param {unknown} value */
function toJson(value) {
  return JSON.stringify(value);
}
