import { createHmac } from "node:crypto";
import { isHooklineError } from "hookline";
import { describe, expect, test } from "vitest";
import {
  createSyncConfigClient,
  Unauthorized,
  type SyncConfigOptions,
  type SyncConfigUser,
  type SyncStatus,
} from "../../src/client.ts";
import type { Emulator, EmulatorOptions } from "../../src/emulator.ts";
import { startEmulator } from "../emulator/support.ts";
import { skippingClock, startService, type Answer } from "./support.ts";

const profile = {
  compExtId: "org-1",
  companyName: "Analytical Engines",
  instanceUrl: "https://portal.example.com",
  userExtId: "user-1",
  firstName: "Ada",
  lastName: "Byron",
  email: "ada@example.com",
  admin: true,
  timeZoneInfo: "Europe/London",
};

async function signedUp(
  options: EmulatorOptions = {},
  more: Partial<SyncConfigOptions> = {},
): Promise<{ readonly emulator: Emulator; readonly user: SyncConfigUser }> {
  const emulator = await startEmulator(options);
  const { appId, appSecret, syncConfigUrl: baseUrl } = emulator;
  const client = createSyncConfigClient({ baseUrl, appId, appSecret, clock: emulator.clock, ...more });
  return { emulator, user: await client.signUp(profile) };
}

/** Lets virtual time pass until it is done: the client's waits are timers of the emulator's clock. */
async function whilePassing<T>(emulator: Emulator, working: Promise<T>): Promise<T> {
  let isOver = false;
  const over = (): void => void (isOver = true);
  working.then(over, over);
  while (!isOver) {
    await emulator.advance(500);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return working;
}

/** What the page behind it does when it is opened. */
async function authorise(url: string | null | undefined): Promise<void> {
  expect((await fetch(url ?? "")).status).toBe(200);
}

describe("signing up", () => {
  test("gives a user whose token every call has", async () => {
    const { user } = await signedUp();
    expect(await user.me()).toMatchObject({ firstName: "Ada", extId: "user-1", admin: true, disabled: false });
    expect(user.accessToken).toMatch(/^v2_/);
  });

  test.each(["ids", "literal"] as const)("signs the %s, as the text can be read", async (signedText) => {
    const { user } = await signedUp({ syncConfig: { signedText } }, { signedText });
    expect(await user.services.list()).toEqual([]);
  });

  test("signs what a function says", async () => {
    const { user } = await signedUp({}, { signedText: (company, id, timestamp) => `${company}:${id}:${timestamp}` });
    expect(await user.services.list()).toEqual([]);
  });

  test("computes the hash that another implementation computes", async () => {
    const { url, requests } = await startService(() => ({ json: { accessToken: "at" } }));
    const clock = skippingClock();
    await createSyncConfigClient({ baseUrl: url, appId: "app", appSecret: "s3cr€t", clock }).signUp(profile);
    expect(requests[0]?.body).toEqual({
      ...profile,
      appId: "app",
      requestTimestamp: clock.now(),
      apiHash: createHmac("sha256", "s3cr€t").update(`org-1:user-1:${clock.now()}`).digest("base64"),
    });
  });

  test("with the other signed text is refused, and the error says what to try", async () => {
    const refused = signedUp({ syncConfig: { signedText: "literal" } });
    await expect(refused).rejects.toThrow(Unauthorized);
    await expect(refused).rejects.toThrow("try the other signedText");
  });

  test("needs an appId and an appSecret", () => {
    const make = () => createSyncConfigClient({ baseUrl: "http://localhost", appId: "app", appSecret: "" });
    expect(make).toThrow("got no appId or no appSecret");
  });
});

describe("a call that is answered 401", () => {
  /** @param refused how many calls with a token get 401 */
  async function refusing(refused: (nth: number) => boolean, signUp: (nth: number) => Answer) {
    let [signUps, calls] = [0, 0];
    const service = await startService(({ path }) => {
      if (path === "/signup") return signUp(signUps++);
      return refused(calls++) ? { status: 401 } : { json: { uid: 5 } };
    });
    const client = createSyncConfigClient({ baseUrl: service.url, appId: "app", appSecret: "s", retry: false });
    const user = await client.signUp(profile);
    return {
      user,
      tokens: () =>
        service.requests.map(({ path, headers }) => (path === "/signup" ? "" : tokenOf(headers.authorization))),
      counts: () => [signUps, calls],
    };
  }

  const newToken = (nth: number): Answer => ({ json: { accessToken: `at-${nth}` } });

  function tokenOf(authorization = ""): string {
    return Buffer.from(authorization.replace("Basic ", ""), "base64").toString();
  }

  test("signs up again, and is repeated with the new token", async () => {
    const { user, tokens } = await refusing((nth) => nth === 0, newToken);
    expect(await user.me()).toEqual({ uid: 5 });
    expect(tokens()).toEqual(["", "at-0:X", "", "at-1:X"]);
    expect(user.accessToken).toBe("at-1");
  });

  test("is repeated once only", async () => {
    const { user, counts } = await refusing(() => true, newToken);
    await expect(user.me()).rejects.toThrow(Unauthorized);
    expect(counts()).toEqual([2, 2]);
  });

  test("signs up once for all calls that were refused together", async () => {
    const { user, counts } = await refusing((nth) => nth < 5, newToken);
    await Promise.all([user.me(), user.me(), user.me(), user.me(), user.me()]);
    expect(counts()[0]).toBe(2);
  });

  test("that was refused late takes the token that is there by then", async () => {
    let signUps = 0;
    let endLate = (): void => {};
    const late = new Promise<void>((resolve) => (endLate = resolve));
    const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      if (String(input instanceof Request ? input.url : input).endsWith("/signup"))
        return Response.json({ accessToken: `at-${signUps++}` });
      const isOld = tokenOf(new Headers(init?.headers).get("authorization") ?? "") === "at-0:X";
      if (isOld && String(input instanceof Request ? input.url : input).endsWith("/services")) await late;
      return isOld ? Response.json({}, { status: 401 }) : Response.json([]);
    };
    const client = createSyncConfigClient({ baseUrl: "http://localhost", appId: "app", appSecret: "s", fetch });
    const user = await client.signUp(profile);
    const slow = user.services.list();
    await user.templateGroups.list();
    endLate();
    expect(await slow).toEqual([]);
    expect(signUps).toBe(2);
  });

  test("fails as the sign-up fails", async () => {
    const { user } = await refusing(
      (nth) => nth === 0,
      (nth) => (nth === 0 ? newToken(0) : { status: 500 }),
    );
    await expect(user.me()).rejects.toMatchObject({ status: 500 });
    expect(await user.me()).toEqual({ uid: 5 });
  });

  test("is found at the emulator when its tokens end", async () => {
    const { emulator, user } = await signedUp();
    const before = user.accessToken;
    await emulator.reset();
    expect(await user.me()).toMatchObject({ extId: "user-1" });
    expect(user.accessToken).not.toBe(before);
  });
});

describe("services", () => {
  test("are created, read, updated and authorised", async () => {
    const { user } = await signedUp();
    const made = await user.services.create({ type: "hosted", email: "ada@example.com", color: "red" });
    expect(made).toMatchObject({
      type: "hosted",
      color: "red",
      authRedirectUrl: expect.stringContaining("http") as string,
    });
    await authorise(made.authRedirectUrl);
    expect(await user.services.get(made.id)).toMatchObject({ id: made.id, authRedirectUrl: null });
    await user.services.update(made.id, { displayName: "Work" });
    expect(await user.services.list()).toMatchObject([{ id: made.id, displayName: "Work" }]);
  });

  test("that exist already are found instead of made", async () => {
    const { user } = await signedUp();
    const first = await user.services.findOrCreate({ type: "hosted", email: "ada@example.com" });
    expect(first.isNew).toBe(true);
    const again = await user.services.findOrCreate({ type: "hosted", email: "ADA@example.com" });
    expect(again).toMatchObject({ isNew: false, service: { id: first.service.id } });
    expect((await user.services.findOrCreate({ type: "hosted" })).isNew).toBe(false);
    expect((await user.services.findOrCreate({ type: "hosted", email: "grace@example.com" })).isNew).toBe(true);
    expect((await user.services.findOrCreate({ type: "corporate" })).isNew).toBe(true);
    expect(await user.services.list()).toHaveLength(3);
  });

  test("of a template are there when a user signs up, and found", async () => {
    const { emulator, user } = await signedUp();
    const { id: gid } = await user.templateGroups.create({ name: "Everyone" });
    const template = await user.templateGroups.services(gid).create({ type: "hosted", lockService: true });
    expect(template).toMatchObject({ groupId: gid, lockService: true });
    const { appId, appSecret, syncConfigUrl: baseUrl } = emulator;
    const client = createSyncConfigClient({ baseUrl, appId, appSecret });
    const grace = await client.signUp({ ...profile, userExtId: "user-2", firstName: "Grace" });
    const { service, isNew } = await grace.services.findOrCreate({ type: "hosted" });
    expect({ isNew, service }).toMatchObject({ isNew: false, service: { templId: template.id, templLocked: true } });
  });
});

describe("settings and templates", () => {
  test("settings keep options that nobody knows", async () => {
    const { user } = await signedUp();
    await user.syncSettings.update({ syncCalendar: true, calSyncDirection: "TO_PORTAL", later: "x" });
    expect(await user.syncSettings.get()).toMatchObject({
      syncCalendar: true,
      calSyncDirection: "TO_PORTAL",
      later: "x",
    });
  });

  test("a template group has a name, services and settings", async () => {
    const { user } = await signedUp();
    const { id } = await user.templateGroups.create({ name: "Sales" });
    await user.templateGroups.update(id, { name: "All" });
    expect(await user.templateGroups.list()).toMatchObject([{ id, name: "All" }]);
    await user.templateGroups.syncSettings(id).update({ syncTasks: true });
    expect(await user.templateGroups.syncSettings(id).get()).toMatchObject({ syncTasks: true, templGroupId: id });
    const services = user.templateGroups.services(id);
    const made = await services.create({ type: "hosted" });
    expect(await services.get(made.id)).toMatchObject({ id: made.id });
    expect(await services.list()).toHaveLength(1);
  });
});

describe("reviewAndActivate", () => {
  async function withService() {
    const { emulator, user } = await signedUp();
    const { service } = await user.services.findOrCreate({ type: "hosted" });
    await authorise(service.authRedirectUrl);
    return { emulator, user };
  }

  test("loads, reports, activates and writes, and says how far it is", async () => {
    const { emulator, user } = await withService();
    const seen: string[] = [];
    const onProgress = ({ syncState }: SyncStatus): void => void (seen.at(-1) === syncState || seen.push(syncState));
    const result = await whilePassing(emulator, user.sync.reviewAndActivate({ onProgress }));
    expect(result.activated.toSorted()).toEqual(["CALENDAR", "CONTACTS", "EMAIL", "TASKS"]);
    expect(Object.keys(result.reports).toSorted()).toEqual(result.activated.toSorted());
    expect(result.status).toMatchObject({ syncState: "IDLE", needReview: null });
    expect(seen.filter((state) => state === "EXECUTING")).toHaveLength(2);
    expect(seen[0]).toBe("IDLE");
    expect(seen.at(-1)).toBe("IDLE");
  });

  test("activates only the modules that are wanted", async () => {
    const { emulator, user } = await withService();
    const result = await whilePassing(emulator, user.sync.reviewAndActivate({ modules: ["EMAIL"] }));
    expect(result.activated).toEqual(["EMAIL"]);
    expect(result.status.needReview).toEqual(["CALENDAR", "CONTACTS", "TASKS"]);
  });

  test("in two steps leaves time to look at the reports", async () => {
    const { emulator, user } = await withService();
    const { reports } = await whilePassing(emulator, user.sync.review());
    expect(reports).toHaveProperty("CALENDAR");
    expect((await user.sync.status()).needReview).toHaveLength(4);
    await whilePassing(emulator, user.sync.activate(["CALENDAR"]));
    await user.sync.allow("TASKS");
    expect((await user.sync.status()).needReview).toEqual(["EMAIL", "CONTACTS"]);
  });

  test("fails when the review could not reach a service, and activates nothing", async () => {
    const { emulator, user } = await signedUp();
    await user.services.create({ type: "hosted" });
    const failing = user.sync.reviewAndActivate();
    const error: unknown = await whilePassing(emulator, failing).catch((thrown: unknown) => thrown);
    expect(isHooklineError(error, "sync-run-failed")).toBe(true);
    expect((await user.sync.status()).needReview).toHaveLength(4);
  });

  test("waits for a run that is under way", async () => {
    const { emulator, user } = await withService();
    await user.sync.start({ initial: true });
    const { activated } = await whilePassing(emulator, user.sync.reviewAndActivate());
    expect(activated).toHaveLength(4);
  });

  test("ends its waiting with its signal", async () => {
    const { emulator, user } = await withService();
    const controller = new AbortController();
    const onProgress = ({ syncState }: SyncStatus): void => {
      if (syncState === "EXECUTING") controller.abort(new Error("stop"));
    };
    const ending = user.sync.reviewAndActivate({ onProgress, signal: controller.signal });
    await expect(whilePassing(emulator, ending)).rejects.toThrow("stop");
  });

  test("does not wait for ever for a run that never begins", async () => {
    const { url } = await startService(({ path }) =>
      path === "/signup" ? { json: { accessToken: "at" } } : { json: { syncState: "IDLE", needReview: ["EMAIL"] } },
    );
    const client = createSyncConfigClient({ baseUrl: url, appId: "a", appSecret: "s", clock: skippingClock() });
    const user = await client.signUp(profile);
    await expect(user.sync.review()).rejects.toThrow("did not begin within 60 s");
  });
});
