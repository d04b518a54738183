/**
 * @typedef {{ [keyword: string]: any }} Schema A JSON Schema.
 *
 * @typedef {object} Parameter
 * @property {string} name
 * @property {"path" | "query" | "header"} in
 * @property {boolean} [required]
 * @property {string} [description]
 * @property {Schema} schema
 *
 * @typedef {object} Scheme How a caller is known.
 * @property {"bearer" | "basic"} scheme
 * @property {string} [description]
 *
 * @typedef {object} Operation
 * @property {string} id
 * @property {string} method in capitals
 * @property {string} path with its parameters in braces
 * @property {string} summary
 * @property {string} tag
 * @property {Scheme | undefined} auth
 * @property {readonly Parameter[]} parameters
 * @property {Schema | undefined} body
 * @property {readonly { status: string, description: string, schema: Schema | undefined }[]} answers
 */

/**
 * The operations of an OpenAPI document, in its order.
 *
 * @param {any} document whose references are replaced: a schema may contain itself afterwards
 * @returns {readonly Operation[]}
 */
export function operationsOf(document) {
  dereference(document);
  const schemes = document.components?.securitySchemes ?? {};
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      summary: operation.summary ?? "",
      tag: operation.tags?.[0] ?? "Others",
      auth: schemes[Object.keys(operation.security?.[0] ?? {})[0] ?? ""],
      parameters: operation.parameters ?? [],
      body: schemaOf(operation.requestBody),
      answers: Object.entries(operation.responses).map(([status, answer]) => ({
        status,
        description: answer.description,
        schema: schemaOf(answer),
      })),
    })),
  );
}

/**
 * @param {{ content?: Record<string, { schema?: Schema }> } | undefined} message
 * @returns {Schema | undefined}
 */
function schemaOf(message) {
  return message?.content?.["application/json"]?.schema;
}

/** @param {any} document */
function dereference(document) {
  const seen = new Set();
  /** @param {any} node */
  const walk = (node) => {
    if (typeof node !== "object" || node === null || seen.has(node)) return;
    seen.add(node);
    for (const [key, value] of Object.entries(node)) {
      node[key] = typeof value?.$ref === "string" ? targetOf(document, value.$ref) : value;
      walk(node[key]);
    }
  };
  walk(document);
}

/**
 * What a reference such as `#/components/schemas/Error` is to.
 *
 * @param {any} document
 * @param {string} reference
 */
function targetOf(document, reference) {
  let node = document;
  for (const name of reference.split("/").slice(1)) node = node?.[name.replaceAll("~1", "/").replaceAll("~0", "~")];
  return node ?? {};
}
