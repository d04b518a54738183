import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A page in which each block that names a file of examples/ has that file's text. */
export function withExamples(page: string, file: string): string {
  return page.replaceAll(
    /^```ts file=(\S*examples\/\S+)\n.*?^```$/gms,
    (_, path: string) => `\`\`\`ts file=${path}\n${readFileSync(join(dirname(file), path), "utf8").trimEnd()}\n\`\`\``,
  );
}
