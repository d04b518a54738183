import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withAlerts } from "./alert-table.ts";
import { referencePages } from "./reference-pages.ts";
import { withExamples } from "./shown-examples.ts";

// `npm run docs:reference`: writes docs/reference from the code, and the programs of examples/ and the alerts of deploy/ into the pages that show them.
const root = join(import.meta.dirname, "../..");
for (const [file, text] of await referencePages()) writeFileSync(join(root, file), text);
for (const name of readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })) {
  if (!name.endsWith(".md") || name.startsWith("reference")) continue;
  const file = join(root, "docs", name);
  const page = readFileSync(file, "utf8");
  const written = withAlerts(withExamples(page, file));
  if (written !== page) writeFileSync(file, written);
}
