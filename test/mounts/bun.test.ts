import { afterAll, beforeAll, describe, test } from "vitest";
import { checkHttpAdapter } from "../suites/http/check-http-adapter.ts";
import { appsSubject } from "./apps-subject.ts";
import { binaryOf } from "./binaries.ts";
import { startProgram, type Program } from "./program.ts";

let program: Program;

beforeAll(async () => {
  program = startProgram(binaryOf("bun"), ["--conditions=hookline-source", "test/mounts/bun.ts"]);
  await program.says(/http:\S+/);
});
afterAll(() => program.end());

const subject = appsSubject(() => program.says(/http:\S+/));

describe.concurrent("hookline/fetch on Bun", () => {
  test.each(checkHttpAdapter(subject).map((one) => [one.name, one] as const))("%s", async (_name, { run }) => run());
});
