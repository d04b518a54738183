import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// `npm run docs:pictures [-- NAME...]`: renders docs/pictures/*.mmd to SVG beside them. It needs Chromium (Debian: apt-get install chromium), and takes
// Mermaid's command line from npm: it is no dependency, because only a changed picture needs it.
const MERMAID = "@mermaid-js/mermaid-cli@11.12.0";
const pictures = join(import.meta.dirname, "../pictures");
const folder = mkdtempSync(join(tmpdir(), "hookline-pictures-"));
const [browser, look] = [join(folder, "browser.json"), join(folder, "look.json")];
writeFileSync(
  browser,
  JSON.stringify({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: ["--no-sandbox"] }),
);
// Labels as SVG text: browsers show no HTML of a picture inside a page of another origin.
writeFileSync(
  look,
  JSON.stringify({
    theme: "neutral",
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    deterministicIds: true,
    fontFamily: "Verdana, DejaVu Sans, sans-serif",
  }),
);
try {
  const wanted = process.argv.slice(2);
  for (const name of readdirSync(pictures)) {
    if (!name.endsWith(".mmd") || (wanted.length > 0 && !wanted.includes(name.replace(".mmd", "")))) continue;
    const source = join(pictures, name);
    const args = ["--input", source, "--output", source.replace(/mmd$/, "svg"), "--backgroundColor", "white"];
    execFileSync(
      "npx",
      ["--yes", MERMAID, ...args, "--puppeteerConfigFile", browser, "--configFile", look, "--quiet"],
      {
        stdio: "inherit",
        env: { ...process.env, PUPPETEER_SKIP_DOWNLOAD: "1" },
      },
    );
  }
} finally {
  rmSync(folder, { recursive: true });
}
