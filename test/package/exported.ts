import ts from "typescript";
import { repository, type Entry } from "./entries.ts";

/** A name that an entry exports. A class counts as a value. */
export interface Exported {
  readonly name: string;
  readonly kind: "value" | "type";
}

/** What the built declarations of each entry export, by the entry's name. */
export function exportedNames(entries: readonly Entry[]): ReadonlyMap<string, readonly Exported[]> {
  const files = entries.map(({ types }) => repository + types);
  const program = ts.createProgram(files, { module: ts.ModuleKind.NodeNext, noEmit: true, skipLibCheck: true });
  const checker = program.getTypeChecker();
  return new Map(entries.map(({ name, types }) => [name, namesOf(checker, program.getSourceFile(repository + types))]));
}

function namesOf(checker: ts.TypeChecker, file: ts.SourceFile | undefined): readonly Exported[] {
  const module = file && checker.getSymbolAtLocation(file);
  if (module === undefined) return [];
  return checker
    .getExportsOfModule(module)
    .map((symbol) => ({ name: symbol.name, kind: isValue(checker, symbol) ? ("value" as const) : ("type" as const) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function isValue(checker: ts.TypeChecker, symbol: ts.Symbol): boolean {
  // `export type { X }` leaves a class's declaration behind and no value.
  if (symbol.declarations?.some(ts.isTypeOnlyExportDeclaration)) return false;
  const meant = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  return (meant.flags & ts.SymbolFlags.Value) !== 0;
}
