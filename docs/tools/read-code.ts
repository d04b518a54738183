import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const root = join(import.meta.dirname, "../..");

/** Of a table. */
export type Row = readonly string[];

/** What the types and their comments say. */
export interface Code {
  /** Option, meaning and default of each member, those of groups with the group's name in front. */
  optionsOf(file: string, name: string): readonly Row[];
  /** Member, type and meaning. */
  membersOf(file: string, name: string): readonly Row[];
  /** Field, type and meaning of an event. */
  fieldsOf(event: string): readonly Row[];
}

export function readCode(): Code {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const inboxes = ["sqlite", "postgres", "bullmq", "pg-boss", "sqs", "nats"].map((name) => `adapters/inbox/${name}.ts`);
  const entries = ["src/index.ts", "adapters/http/fetch.ts", ...inboxes].map((file) => join(root, file));
  const program = ts.createProgram(entries, { ...options, noEmit: true });
  const checker = program.getTypeChecker();

  function declared(file: string, name: string): ts.InterfaceDeclaration | ts.TypeAliasDeclaration {
    const found = program
      .getSourceFile(join(root, file))
      ?.statements.find(
        (one): one is ts.InterfaceDeclaration | ts.TypeAliasDeclaration =>
          (ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one)) && one.name.text === name,
      );
    if (found === undefined) throw new Error(`${file} declares no ${name}.`);
    return found;
  }

  const propertiesOf = (type: ts.Type): readonly ts.Symbol[] =>
    checker.getPropertiesOfType(checker.getNonNullableType(type));
  const typeOf = (symbol: ts.Symbol): ts.Type => checker.getTypeOfSymbol(symbol);
  const docOf = (symbol: ts.Symbol): string => ts.displayPartsToString(symbol.getDocumentationComment(checker));

  function tagOf(symbol: ts.Symbol, tag: string): string {
    const found = symbol.getJsDocTags(checker).find(({ name }) => name === tag);
    return ts.displayPartsToString(found?.text);
  }

  /** As it is written, without `| undefined`, which is said by the question mark. */
  function typeText(symbol: ts.Symbol): string {
    const declaration = symbol.declarations?.[0];
    const isMethod = declaration !== undefined && ts.isMethodSignature(declaration);
    const type = isMethod ? typeOf(symbol) : checker.getNonNullableType(typeOf(symbol));
    return checker.typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation);
  }

  function optionRows(type: ts.Type, group = ""): readonly Row[] {
    return propertiesOf(type).flatMap((symbol): readonly Row[] => {
      const isGroup = checker.getNonNullableType(typeOf(symbol)).getSymbol()?.name === "__type" && docOf(symbol) === "";
      if (isGroup) return optionRows(typeOf(symbol), `${symbol.name}.`);
      return [[`\`${group}${symbol.name}\``, docOf(symbol), tagOf(symbol, "default")]];
    });
  }

  function memberRows(type: ts.Type, except?: string): readonly Row[] {
    return propertiesOf(type)
      .filter(({ name }) => name !== except)
      .map((symbol): Row => {
        const isOptional = (symbol.flags & ts.SymbolFlags.Optional) !== 0;
        return [`\`${symbol.name}${isOptional ? "?" : ""}\``, `\`${typeText(symbol)}\``, docOf(symbol)];
      });
  }

  const typeIn = (file: string, name: string): ts.Type => checker.getTypeAtLocation(declared(file, name));
  const events = typeIn("src/protocol/event-types.ts", "EventMap");
  return {
    optionsOf: (file, name) => optionRows(typeIn(file, name)),
    membersOf: (file, name) => memberRows(typeIn(file, name)),
    fieldsOf(event) {
      const symbol = checker.getPropertyOfType(events, event);
      if (symbol === undefined) throw new Error(`EventMap has no ${event}.`);
      return memberRows(typeOf(symbol), "type");
    },
  };
}

/** The codes of errors that the sources make. */
export function errorCodes(): ReadonlySet<string> {
  const codes = new Set<string>();
  for (const folder of ["src", "adapters"]) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts") || file.startsWith("cli/")) continue;
      const source = readFileSync(join(root, folder, file), "utf8");
      for (const [, code = ""] of source.matchAll(/(?:new \w*Error|super)\(\s*"([a-z-]+)"/g)) codes.add(code);
      // The client's are in a table by status.
      for (const [, code = ""] of source.matchAll(/"(service-[a-z-]+)"/g)) codes.add(code);
    }
  }
  return codes;
}
