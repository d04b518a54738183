/** One option of a curl line by its long name; what is no option is a `--url`. */
export interface CurlOption {
  readonly name: string;
  /** Empty for an option without one. */
  readonly value: string;
}

/** Short options that take a value; those of interest with their long name. */
const SHORT: Readonly<Record<string, string>> = {
  H: "--header",
  d: "--data",
  X: "--request",
  F: "--form",
  T: "--upload-file",
  ...Object.fromEntries("ACDEKPQUbcemortuwxyYz".split("").map((letter) => [letter, `-${letter}`])),
};

/** Long options that take a value and say nothing here, so that it is not taken for the URL. */
const LONG = new Set(
  `request url header data data-raw data-binary data-ascii data-urlencode json form form-string upload-file
  aws-sigv4 cacert capath cert cert-type ciphers config connect-timeout connect-to cookie cookie-jar dump-header
  interface key key-type limit-rate local-port max-filesize max-redirs max-time noproxy oauth2-bearer output
  output-dir pass pinnedpubkey proto proxy proxy-header proxy-user range referer request-target resolve retry
  retry-delay retry-max-time speed-limit speed-time stderr tls-max tls13-ciphers trace trace-ascii unix-socket
  user user-agent variable write-out`
    .split(/\s+/)
    .map((name) => `--${name}`),
);

/** The options of a curl line, in their order. */
export function curlOptions(words: readonly string[]): readonly CurlOption[] {
  const options: CurlOption[] = [];
  const rest = words.values();
  const next = (): string => rest.next().value ?? "";
  for (const word of rest) {
    if (word.startsWith("--")) {
      options.push({ name: word, value: LONG.has(word) ? next() : "" });
    } else if (word.startsWith("-") && word.length > 1) {
      options.push(...shortOptions(word, next));
    } else {
      options.push({ name: "--url", value: word });
    }
  }
  return options;
}

/** Several may stand together, and the last one's value right behind it: `-sSXPOST`. */
function shortOptions(word: string, next: () => string): readonly CurlOption[] {
  for (let at = 1; at < word.length; at += 1) {
    const name = SHORT[word[at] ?? ""];
    if (name === undefined) continue;
    const value = word.slice(at + 1);
    return [{ name, value: value === "" ? next() : value }];
  }
  return [];
}
