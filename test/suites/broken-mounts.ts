import { byHand, STEPS } from "./http-subjects.ts";
import type { HttpSubject } from "./http/http-subject.ts";

/** A mount that does one thing wrong, and the case that must fail for it. */
export interface BrokenMount {
  readonly it: string;
  readonly subject: HttpSubject;
  readonly caught: string;
}

const { read, headersOf, urlOf, receive, answer } = STEPS;

const WHOLE = "200: a delivery is stored before its answer, which has no body and no header of a framework's";
const TOKEN = "handshake: the token comes back, decoded once, with its type and nothing that guesses another";

export const brokenMounts: readonly BrokenMount[] = [
  {
    it: "parses the body and writes it anew",
    subject: byHand({
      read: async (req) => {
        const text = Buffer.from(await read(req)).toString();
        try {
          return Buffer.from(JSON.stringify(JSON.parse(text)));
        } catch {
          return Buffer.from(text);
        }
      },
    }),
    caught:
      "body: whose JSON nobody writes again the same way is stored as it came, with its length declared and in chunks",
  },
  {
    it: "reads the body as UTF-8 text",
    subject: byHand({ read: async (req) => Buffer.from(Buffer.from(await read(req)).toString()) }),
    caught: "body: of every byte there is is stored as it came, with its length declared and in chunks",
  },
  {
    it: "takes a byte order mark away",
    subject: byHand({ read: async (req) => Buffer.from(new TextDecoder("utf-8").decode(await read(req))) }),
    caught: "body: that begins with a byte order mark is stored as it came, with its length declared and in chunks",
  },
  {
    it: "trims the body",
    subject: byHand({
      read: async (req) =>
        Buffer.from(
          Buffer.from(await read(req))
            .toString("latin1")
            .trim(),
        ),
    }),
    caught: "body: of white space is stored as it came, with its length declared and in chunks",
  },
  {
    it: "lets a framework add a content type and a body",
    subject: byHand({
      answer: (res, { status, headers, body }) =>
        answer(res, { status, headers: { "Content-Type": "text/html", ...headers }, body: body || "OK" }),
    }),
    caught: WHOLE,
  },
  {
    it: "answers before it is stored",
    subject: byHand({
      receive: async (app, raw) => {
        void receive(app, raw);
        return { status: 200, headers: {}, body: "" };
      },
    }),
    caught: "503: storage that fails, until it does not",
  },
  {
    it: "answers 204 where there is no body",
    subject: byHand({
      answer: (res, reply) => answer(res, { ...reply, status: reply.body === "" ? 204 : reply.status }),
    }),
    caught: WHOLE,
  },
  {
    it: "loses the query",
    subject: byHand({ urlOf: (req) => urlOf(req).split("?")[0] ?? "" }),
    caught: TOKEN,
  },
  {
    it: "decodes the query before the receiver does",
    subject: byHand({ urlOf: (req) => decodeURIComponent(urlOf(req)) }),
    caught: TOKEN,
  },
  {
    it: "takes the last of two headers",
    subject: byHand({
      headersOf: ({ rawHeaders }) =>
        Object.fromEntries(rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1]]] : []))),
    }),
    caught: "401: a header that comes twice",
  },
  {
    it: "unpacks, and says nothing of it",
    subject: byHand({ headersOf: (req) => ({ ...headersOf(req), "content-encoding": undefined }) }),
    caught: "415: an encoding is refused, and none is none",
  },
  {
    it: "drops the headers of an answer",
    subject: byHand({ answer: (res, reply) => answer(res, { ...reply, headers: {} }) }),
    caught: "405: GET",
  },
  {
    it: "passes the status of a handler's error on",
    subject: byHand({
      receive: async (app, raw) => {
        const reply = await receive(app, raw);
        return reply.status === 503 ? { ...reply, status: 422 } : reply;
      },
    }),
    caught: "after-handlers: a handler that fails is 503, whatever status its error has, and all of it runs again",
  },
  {
    it: "answers 200 once it is closed",
    subject: byHand({
      receive: async (app, raw) => {
        const reply = await receive(app, raw);
        return reply.status === 503 ? { status: 200, headers: {}, body: "" } : reply;
      },
    }),
    caught: "shut-down: what comes afterwards is 503, and a handshake is greeted",
  },
  {
    it: "keeps the request in a variable that all share",
    subject: byHand({ read: sharedRead() }),
    caught: "many at once: two whose bodies come in turns",
  },
  {
    it: "forgets the source",
    subject: byHand({ receive: (app, raw) => receive(app, { ...raw, source: undefined }) }),
    caught: "source: it is stored",
  },
  {
    it: "takes any path below its own",
    subject: byHand({ isFor: (path, options) => path.startsWith(options) }),
    caught: "path: what goes elsewhere is not stored, and not acknowledged",
  },
  {
    it: "does not wait for the handlers",
    subject: byHand({ receive: (app, raw) => app.receiver.receive(raw) }),
    caught: "after-handlers: the answer waits for the handler",
  },
];

/** Each chunk goes to whoever asked last. */
function sharedRead(): typeof read {
  let chunks: Uint8Array[] = [];
  return async (req) => {
    chunks = [];
    for await (const chunk of req as AsyncIterable<Uint8Array>) chunks.push(chunk);
    return Buffer.concat(chunks);
  };
}
