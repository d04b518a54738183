import { loadAwsServiceSpecSync } from "@aws-cdk/aws-service-spec";
import { parseDocument, type ScalarTag } from "yaml";

/** A template of AWS SAM, its tags in the long form: `!Ref Queue` is `{ Ref: "Queue" }`. */
export interface Template {
  readonly Parameters: Readonly<Record<string, { readonly Type: string }>>;
  readonly Globals: { readonly Function: Values };
  readonly Resources: Readonly<Record<string, { readonly Type: string; readonly Properties: Values }>>;
  readonly Outputs: Readonly<Record<string, { readonly Value: unknown }>>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- whatever is written there
export type Values = Readonly<Record<string, any>>;

const TAGS: readonly ScalarTag[] = [
  { tag: "!Ref", resolve: (name) => ({ Ref: name }) },
  { tag: "!GetAtt", resolve: (name) => ({ "Fn::GetAtt": name }) },
  { tag: "!Sub", resolve: (text) => ({ "Fn::Sub": text }) },
];

/** @throws an error of the syntax, or of a tag that is not known here */
export function parseTemplate(text: string): Template {
  // CloudFormation reads YAML 1.1.
  const document = parseDocument(text, { schema: "yaml-1.1", customTags: (known) => [...known, ...TAGS] });
  for (const problem of [...document.errors, ...document.warnings]) throw problem;
  return document.toJS() as Template;
}

const FUNCTION = "AWS::Serverless::Function";
const PSEUDO_PARAMETERS = new Set(["AWS::AccountId", "AWS::Partition", "AWS::Region", "AWS::StackName"]);

/**
 * What CloudFormation would refuse, by AWS's own schemas: resources and properties that do not exist, are missing or have a value of
 * another type, and names of what is not in the template. Policies and values that are texts are not looked into.
 */
export function lintTemplate(template: Template): readonly string[] {
  const spec = loadAwsServiceSpecSync();
  const findings: string[] = [];
  const { Parameters: parameters, Globals: globals, Resources: resources } = template;

  for (const [id, { Type: type, Properties: own }] of Object.entries(resources)) {
    const resource = resourceOf(spec, type);
    if (resource === undefined) findings.push(`${id}: there is no ${type}`);
    else checkAll({ ...(type === FUNCTION ? globals.Function : {}), ...own }, resource.properties, id);
  }
  const used = new Set<string>();
  checkReferences({ resources, outputs: template.Outputs }, "");
  for (const name of Object.keys(parameters)) if (!used.has(name)) findings.push(`Parameters.${name}: is not used`);
  return findings;

  function checkAll(given: Values, properties: Properties, at: string): void {
    for (const [name, { required }] of Object.entries(properties))
      if (required === true && given[name] === undefined) findings.push(`${at}.${name}: is missing`);
    for (const [name, value] of Object.entries(given)) {
      const property = properties[name];
      if (property === undefined) findings.push(`${at}.${name}: there is no such property`);
      else check(value, property.type, `${at}.${name}`);
    }
  }

  function check(value: unknown, type: Type, at: string): void {
    if (type.type === "union") return checkUnion(value, type.types, at);
    if (isReference(value)) {
      if (isList(value) !== (type.type === "array")) findings.push(`${at}: got a reference, expected ${type.type}`);
    } else if (type.type === "array" && Array.isArray(value))
      for (const [place, one] of value.entries()) check(one, type.element, `${at}.${place}`);
    else if (type.type === "map" && isObject(value))
      for (const [name, one] of Object.entries(value)) check(one, type.element, `${at}.${name}`);
    else if (type.type === "ref" && isObject(value))
      checkAll(value, spec.get("typeDefinition", type.reference).properties, at);
    else if (!isPlain(value, type.type)) findings.push(`${at}: got ${JSON.stringify(value)}, expected ${type.type}`);
  }

  /** One of the types must take it. Else the one says why not that fails deepest inside the value, with the fewest findings. */
  function checkUnion(value: unknown, types: readonly Type[], at: string): void {
    const before = findings.length;
    const tries = types.map((type) => {
      check(value, type, at);
      return findings.splice(before);
    });
    const depthOf = ([finding]: readonly string[]): number => finding?.split(":")[0]!.split(".").length ?? Infinity;
    const [best = []] = tries.toSorted((a, b) => depthOf(b) - depthOf(a) || a.length - b.length);
    findings.push(...best);
  }

  function checkReferences(value: unknown, at: string): void {
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === "Ref") checkName(inner as string, at);
      else if (key === "Fn::GetAtt") checkAttribute(inner as string, at);
      else if (key === "Fn::Sub")
        for (const [, name = ""] of (inner as string).matchAll(/\$\{([^!}]+)\}/g))
          (name.includes(".") ? checkAttribute : checkName)(name, at);
      else checkReferences(inner, `${at}.${key}`);
    }
  }

  function checkName(name: string, at: string): void {
    used.add(name);
    if (parameters[name] === undefined && typeOf(name) === undefined && !PSEUDO_PARAMETERS.has(name))
      findings.push(`${at}: there is no ${name}`);
  }

  function checkAttribute(name: string, at: string): void {
    const [id = "", ...attribute] = name.split(".");
    const resource = resourceOf(spec, typeOf(id) ?? "");
    if (resource?.attributes[attribute.join(".")] === undefined) findings.push(`${at}: there is no ${name}`);
  }

  /** Of what CloudFormation makes of it: SAM makes a function of a function, and another resource of its URL. */
  function typeOf(id: string): string | undefined {
    const type = resources[id]?.Type;
    if (type !== undefined) return type === FUNCTION ? "AWS::Lambda::Function" : type;
    const ofUrl = id.endsWith("Url") ? resources[id.slice(0, -"Url".length)] : undefined;
    return ofUrl?.Properties["FunctionUrlConfig"] === undefined ? undefined : "AWS::Lambda::Url";
  }

  function isList(reference: Values): boolean {
    return parameters[String(reference["Ref"])]?.Type.startsWith("List<") === true;
  }
}

type Spec = ReturnType<typeof loadAwsServiceSpecSync>;
type Properties = NonNullable<ReturnType<typeof resourceOf>>["properties"];
type Type = Properties[string]["type"];

function resourceOf(spec: Spec, type: string) {
  return spec.lookup("resource", "cloudFormationType", "equals", type)[0];
}

function isObject(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isReference(value: unknown): value is Values {
  return isObject(value) && Object.keys(value).some((key) => key === "Ref" || key.startsWith("Fn::"));
}

function isPlain(value: unknown, type: Type["type"]): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "json" || type === "tag") return typeof value === "object" && value !== null;
  return (type === "string" || type === "number" || type === "boolean") && typeof value === type;
}
