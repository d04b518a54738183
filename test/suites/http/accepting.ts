import { assertAnswer, assertStored } from "./asserts.ts";
import { longMail, mail } from "./deliveries.ts";
import type { HttpPart } from "./http-case.ts";

const BODIES: Readonly<Record<string, string | Uint8Array>> = {
  "in several scripts": '{"subject":"日本語 é Ελληνικά עברית 😀 \\u00e9"}',
  "that begins with a byte order mark": '\uFEFF{"a":1}',
  "whose JSON nobody writes again the same way": '{ "a" : 1.0, "a":2e0,\r\n\t"b": "\\/\\u0041\u2028" }\n',
  "of white space": " \r\n\t",
  "of every byte there is": Uint8Array.from({ length: 512 }, (_, at) => at % 256),
  "that is no UTF-8": Uint8Array.of(0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80),
  "of 64 KiB": longMail(65_536),
};

const LONG_BODIES: Readonly<Record<string, string>> = {
  "of 64 KiB and one byte": longMail(65_537),
  "of half a MiB": longMail(524_288),
  "of 1 MiB, which is the limit": longMail(1_048_576),
};

export const accepting: readonly HttpPart[] = [
  {
    about: "200",
    promise: "What is signed is stored, and then answered with exactly 200 and an empty body.",
    proofs: {
      "a delivery is stored before its answer, which has no body and no header of a framework's": async (bench) => {
        const body = mail(["m-1"]);
        assertAnswer(bench, await bench.deliver(body), { status: 200 });
        assertStored(bench, body);
      },

      "each delivery is stored, also one that came before": async (bench) => {
        const bodies = [mail(["m-1"]), mail(["m-2"]), mail(["m-1"])];
        for (const body of bodies) assertAnswer(bench, await bench.deliver(body), { status: 200 });
        assertStored(bench, ...bodies);
      },

      "whatever it says, and whatever its content type": async (bench) => {
        const bodies = ["no JSON", "[]", '{"status":422,"statusCode":422}', "validationToken=abc"];
        const types = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json"];
        for (const [at, body] of bodies.entries()) {
          const headers = { "Content-Type": types[at] as string };
          assertAnswer(bench, await bench.deliver(body, { headers }), { status: 200 });
        }
        assertStored(bench, ...bodies);
      },

      "without a content type, and with a hundred headers": async (bench) => {
        const body = mail(["m-1"]);
        const { "Content-Type": _, ...headers } = bench.signed(body);
        const many = Object.fromEntries(Array.from({ length: 100 }, (_header, at) => [`X-Other-${at}`, `value ${at}`]));
        const asked = { method: "POST", body: Buffer.from(body) };
        assertAnswer(bench, await bench.ask({ ...asked, headers }), { status: 200 });
        assertAnswer(bench, await bench.ask({ ...asked, headers: { ...headers, ...many } }), { status: 200 });
        assertStored(bench, body, body);
      },
    },
  },
  { ...whole("body", BODIES) },
  { ...whole("long body", LONG_BODIES), needs: "longBodies" },
];

function whole(about: string, bodies: Readonly<Record<string, string | Uint8Array>>): HttpPart {
  const proofs = Object.entries(bodies).map(([what, body]): [string, HttpPart["proofs"][string]] => [
    `${what} is stored as it came, with its length declared and in chunks`,
    async (bench) => {
      assertAnswer(bench, await bench.deliver(body), { status: 200 });
      assertAnswer(bench, await bench.deliver(body, { headers: { "Transfer-Encoding": "chunked" } }), { status: 200 });
      assertStored(bench, body, body);
    },
  ]);
  const promise = "A delivery is stored byte for byte: the signature is over the bytes.";
  return { about, promise, proofs: Object.fromEntries(proofs) };
}
