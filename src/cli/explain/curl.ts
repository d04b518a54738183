import { readFile } from "node:fs/promises";
import { unreadable, type Captured } from "./captured.ts";
import { curlOptions } from "./curl-options.ts";
import { createHeaderLines } from "./headers.ts";
import { shellWords } from "./shell-words.ts";

/**
 * Reads a curl line as it is typed, or copied from a browser or an inspector of webhooks.
 *
 * @param line each character is a byte
 * @throws CommandError for a line that is cut off, or whose body cannot be known
 */
export async function readCurl(line: string): Promise<Captured> {
  const words = shellWords(line.replace(/^\$\s+/, ""));
  if (words === undefined) throw unreadable("The curl line ends inside of a quote or an escape.");
  const headers = createHeaderLines();
  const notes: string[] = [];
  const bodies: string[] = [];
  let method: string | undefined;
  let url: string | undefined;
  for (const { name, value } of curlOptions(words.slice(1))) {
    switch (name) {
      case "--header": {
        const colon = value.indexOf(":");
        if (colon > 0 && value.slice(colon + 1).trim() !== "")
          headers.add(value.slice(0, colon), value.slice(colon + 1));
        break;
      }
      case "--request":
        method = value;
        break;
      case "--url":
        url = value;
        break;
      case "--data-raw":
        bodies.push(value);
        break;
      case "--data":
      case "--data-ascii":
      case "--data-binary":
      case "--json": {
        const { text, note } = await dataOf(name, value);
        bodies.push(text);
        if (note !== undefined) notes.push(note);
        break;
      }
      case "--data-urlencode":
      case "--form":
      case "--form-string":
      case "--upload-file":
        throw unreadable(`The curl line has ${name}, whose body is not known here: give it with --data-raw.`);
    }
  }
  return {
    form: "curl",
    method: method ?? (bodies.length > 0 ? "POST" : "GET"),
    url,
    headers: headers.all(),
    body: Buffer.from(bodies.join("&"), "latin1"),
    notes,
  };
}

async function dataOf(option: string, value: string): Promise<{ readonly text: string; readonly note?: string }> {
  if (!value.startsWith("@")) return { text: value };
  const path = Buffer.from(value.slice(1), "latin1").toString("utf8");
  const whole = await textOf(path);
  if (option === "--data-binary" || option === "--json") return { text: whole };
  const text = whole.replaceAll(/[\r\n\0]/g, "");
  if (text === whole) return { text };
  return { text, note: `curl -d leaves out the line ends of ${path}: send a file with --data-binary @${path}.` };
}

async function textOf(path: string): Promise<string> {
  if (path === "-") throw unreadable("The body of the curl line comes from stdin, which is not here.");
  try {
    return (await readFile(path)).toString("latin1");
  } catch (error) {
    throw unreadable(`The body of the curl line is the file ${path}, which cannot be read.`, error);
  }
}
