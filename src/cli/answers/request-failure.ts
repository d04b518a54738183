/** Why there was no answer. */
export interface RequestFailure {
  /** Node's own code: short enough for a table, and searchable. */
  readonly code: string;
  /** The same in words, with what to check. */
  readonly words: string;
}

/** The reason with which a request is aborted that takes too long. */
export const ANSWER_TIMEOUT = Object.assign(new Error("No answer in time."), { code: "TIMEOUT" });

/** Why a request failed without an answer. */
export function toFailure(error: unknown, url: string): RequestFailure {
  const cause = rootOf(error);
  const code = codeOf(cause);
  return { code, words: wordsOf(code, new URL(url)) ?? certificateWords(code) ?? cause.message };
}

/** @param words may end with a question */
export function toSentence(words: string): string {
  return words.endsWith("?") ? words : `${words}.`;
}

function wordsOf(code: string, { host, hostname, port, protocol }: URL): string | undefined {
  const orHttps = protocol === "https:" ? "" : ", or is it https://";
  switch (code) {
    case ANSWER_TIMEOUT.code:
      return "no answer within 10 s: the app hangs, or it does its work before it answers";
    case "ECONNREFUSED":
      return `nothing listens on ${host}: is the app running, and on that port?`;
    case "ENOTFOUND":
      return `there is no host ${hostname}`;
    case "EAI_AGAIN":
      return `the address of ${hostname} could not be looked up: is there a network?`;
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "ETIMEDOUT":
    case "UND_ERR_CONNECT_TIMEOUT":
      return `${host} could not be reached: is it up, or does a firewall drop it?`;
    case "ECONNRESET":
    case "EPIPE":
    case "UND_ERR_SOCKET":
      return `the connection was closed before the answer was whole: did the app crash${orHttps}?`;
    case "HTTPParserError":
      return `what came back is no HTTP: is it another port${orHttps}?`;
    case "bad port":
      return `fetch never connects to port ${port}, which is reserved for another protocol: take another`;
    case "ERR_SSL_WRONG_VERSION_NUMBER":
      return `${host} does not speak TLS: is it http://?`;
    default:
      return undefined;
  }
}

function certificateWords(code: string): string | undefined {
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "the certificate is for another host";
  if (code === "CERT_HAS_EXPIRED") return "the certificate has expired";
  if (code === "CERT_NOT_YET_VALID") return "the certificate is not valid yet: is this machine's clock right?";
  if (code.includes("SELF_SIGNED_CERT")) {
    return "the certificate is signed by no authority that is known here: name its file in NODE_EXTRA_CA_CERTS";
  }
  if (code.startsWith("UNABLE_TO_")) {
    return "the certificate's authority is not known here: does the server send its intermediate certificates?";
  }
  // Other TLS errors have a place in OpenSSL's source as their message.
  return code.startsWith("ERR_SSL_") || code === "EPROTO" ? "the TLS handshake failed" : undefined;
}

function codeOf({ code, name, message }: CodedError): string {
  // Some versions of Node give this error the parser's own code.
  if (name === "HTTPParserError") return name;
  if (typeof code === "string") return code;
  return name === "Error" ? message : name;
}

interface CodedError {
  /** A number of an abort. */
  readonly code?: string | number;
  readonly name: string;
  readonly message: string;
}

/** `fetch` throws a TypeError that says nothing; its cause does. */
function rootOf(error: unknown): CodedError {
  let cause: unknown = error;
  while (cause instanceof Error) {
    const inner: unknown = cause instanceof AggregateError ? mostSpecific(cause.errors) : cause.cause;
    if (!(inner instanceof Error)) return cause;
    cause = inner;
  }
  return new Error(String(cause));
}

/** One error of those for each address of a host: on a machine without IPv6 the error of that address says nothing. */
function mostSpecific(errors: readonly unknown[]): unknown {
  return errors.find((one) => (one as CodedError | undefined)?.code === "ECONNREFUSED") ?? errors[0];
}
