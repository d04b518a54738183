import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

// `npm run docs:tour`: runs what `npm start` runs, and draws its first lines and its last ones as docs/pictures/tour.svg.
const root = join(import.meta.dirname, "../..");
const output = execFileSync(process.execPath, ["--conditions=hookline-source", join(root, "examples/tour.ts")], {
  env: { ...process.env, FORCE_COLOR: "1" },
  encoding: "utf8",
});
/** The lines of the picture: the first parts, and the end. */
const SHOWN = { first: 32, last: 4 };
const LINE = 19;
const CHARACTER = 7.83;
const PADDING = 16;
const COLORS: Readonly<Record<string, string>> = {
  "1": 'font-weight="bold"',
  "2": 'fill="#8b949e"',
  "31": 'fill="#ff7b72"',
  "32": 'fill="#7ee787"',
  "33": 'fill="#e3b341"',
};

// The folder of the file has another name each time.
const all = output.trimEnd().replace(/\S+$/, "/tmp/hookline-tour/inbox.db").split("\n");
const lines = ["\u001B[2m$ npm start\u001B[22m", "", ...all.slice(0, SHOWN.first), "...", ...all.slice(-SHOWN.last)];
const [width, height] = [Math.ceil(100 * CHARACTER) + 2 * PADDING, lines.length * LINE + 2 * PADDING];
const rows = lines.map(
  (line, index) =>
    `<text x="${PADDING}" y="${PADDING + 14 + index * LINE}" xml:space="preserve">${toSpans(line)}</text>`,
);
writeFileSync(
  join(root, "docs/pictures/tour.svg"),
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#e6edf3">
<title>The output of npm start</title>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
${rows.join("\n")}
</svg>
`,
);

/** Text with the escape sequences of a terminal, as spans. */
function toSpans(line: string): string {
  const [plain = "", ...styled] = line.split("\u001B[");
  const spans = styled.map((part) => {
    const end = part.indexOf("m");
    const [style, text] = [COLORS[part.slice(0, end)], escape(part.slice(end + 1))];
    return style === undefined || text === "" ? text : `<tspan ${style}>${text}</tspan>`;
  });
  return [escape(plain), ...spans].join("");
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
