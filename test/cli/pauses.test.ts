import { describe, expect, test } from "vitest";
import { onDisk } from "../adapters/inbox/on-disk.ts";
import { inbox, jsonOf } from "./inbox-file.ts";

describe("hookline inbox pause, paused and resume", () => {
  test("pause a consumer beside the process that works, list it, and end it", async () => {
    const { file, inbox: worker } = await onDisk();
    expect((await inbox(file, "paused")).err).toBe("Nothing is paused.\n");
    const said = await inbox(file, "pause --consumer crm --reason down");
    expect(said).toMatchObject({ code: 0, out: "Paused consumer crm: 0 jobs wait.\n", err: "" });
    await inbox(file, "pause --account 2002 --consumer crm --reason import --for 2h");
    const found = jsonOf((await inbox(file, "paused --json")).out);
    expect(found).toMatchObject([
      { consumer: "crm", reason: "down", waiting: 0 },
      { consumer: "crm", accountId: 2002, reason: "import" },
    ]);
    expect((await inbox(file, "paused")).out).toMatch(
      /^CONSUMER +ACCOUNT +WAITING +SINCE .+\ncrm +\(all\) +0 .+ resumed +down\n/u,
    );
    expect(await inbox(file, "resume --consumer crm")).toMatchObject({ code: 0, out: "Resumed consumer crm.\n" });
    expect(await inbox(file, "resume --consumer crm")).toMatchObject({ code: 1, out: "" });
    expect(worker.pauses?.current().length).toBeLessThanOrEqual(2);
  });

  test.each([
    ["pause --reason x", "--consumer nor --account"],
    ["resume", "--consumer nor --account"],
    ["pause --consumer crm", "--reason"],
    ["pause --consumer crm --reason x --for soon", "--for"],
  ])("%s is refused, with what is missing", async (words, what) => {
    const { file } = await onDisk();
    const { code, err } = await inbox(file, words);
    expect(code).toBe(2);
    expect(err).toContain(what);
  });
});
