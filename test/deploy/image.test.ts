import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { root } from "../docs/pages.ts";
import { has } from "../docs/sandbox.ts";
import { pack } from "../package/project.ts";
import { eventually } from "../support/eventually.ts";
import { dial, freePort, headersText, send } from "../support/http.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { signedHeaders } from "../support/sign.ts";

const MIB = 1024 ** 2;
/** What we add to the base. */
const LARGEST_LAYER = 40 * MIB;
/** Of the base, and of what starts it. */
const PATH = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const SECRET = "a secret of these tests";

const absent = ["buildah", "mmdebstrap", "chroot", "unshare"].filter((name) => !has(name));
if (process.getuid?.() !== 0) absent.push("root");
const why = absent.length === 0 ? "" : ` (not here: ${absent.join(", ")})`;

describe.skipIf(absent.length > 0)(`the image of deploy/Dockerfile${why}`, () => {
  let folder = "";
  let image: Image;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "hookline-image-"));
    image = await build(folder);
  });
  afterAll(() => {
    if (folder !== "") rmSync(folder, { recursive: true, force: true });
  });

  test("says how it is run: as user 1000, without a shell and npm, stopped by SIGTERM", () => {
    const { config } = image;
    expect(config).toMatchObject({
      User: "1000:1000",
      WorkingDir: "/data",
      Volumes: { "/data": {} },
      ExposedPorts: { "3000/tcp": {} },
      StopSignal: "SIGTERM",
      Labels: { "org.opencontainers.image.version": manifest.version, "org.opencontainers.image.licenses": "MIT" },
    });
    for (const words of [config.Entrypoint, config.Healthcheck.Test.slice(1)]) {
      expect(words[0]).toBe("node");
      expect(existsSync(join(image.root, words[1] ?? "")), words[1]).toBe(true);
    }
    expect(config.Healthcheck.Test[0]).toBe("CMD");
  });

  test("adds at most 40 MB to its base, which its process cannot change, and a folder for itself alone", () => {
    const files = filesBelow(join(image.root, "app"));
    const bytes = files.reduce((sum, file) => sum + lstatSync(file).size, 0);
    expect(bytes).toBeGreaterThan(MIB);
    expect(bytes).toBeLessThan(LARGEST_LAYER);
    expect(files.filter((file) => lstatSync(file).uid !== 0)).toEqual([]);
    const { uid, gid, mode } = lstatSync(join(image.root, "data"));
    expect([uid, gid, mode & 0o777]).toEqual([1000, 1000, 0o700]);
  });

  test("receives, answers its health check, ends in order on SIGTERM, and writes to /data and /tmp alone", async () => {
    const stamp = join(folder, "stamp");
    writeFileSync(stamp, "");
    const { child, port, admin, lines } = await start(image);
    expect(await deliver(port, "m-1")).toBe(200);
    await eventually(() => expect(lines).toHaveLength(1));
    const ps = must("ps", ["-o", "uid=,gid=,args=", "-p", String(child.pid)])
      .trim()
      .split(/\s+/);
    expect(ps.slice(0, 4)).toEqual(["1000", "1000", ...image.config.Entrypoint]);
    expect(probe(image, admin)).toBe(0);

    // A request that has begun is answered, and then nobody else is.
    const body = bodyOf({ payloads: [change("m-2")] });
    const wire = await dial(port);
    const headers = {
      Host: "localhost",
      "Content-Length": String(body.length),
      ...signedHeaders(body, { secret: SECRET }),
    };
    wire.write(headersText(headers, "POST /webhooks HTTP/1.1") + body.slice(0, 10));
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await eventually(() => expect(deliver(port, "m-3")).rejects.toThrow(/ECONNREFUSED/));
    wire.write(body.slice(10));
    await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1.1 200 /));
    expect(await ended).toEqual([0, null]);
    expect(probe(image, admin)).toBe(1);

    const newer = spawnSync(
      "find",
      [image.root, "-newer", stamp, "-not", "-path", "*/data*", "-not", "-path", "*/tmp*", "-type", "f"],
      { encoding: "utf8" },
    );
    expect(newer.stdout).toBe("");
    expect(readdirSync(join(image.root, "data"))).toContain("inbox.db");
  });

  test("works with a root that is read-only, and finds what was stored before", async () => {
    const { child, port, lines } = await start(image, { readOnly: true });
    expect(await deliver(port, "m-4")).toBe(200);
    await eventually(() => expect(lines.join()).toContain('"m-4"'));
    child.kill("SIGKILL");
    await once(child, "exit");
    const list = inside(image, ["inbox", "list", "--inbox", "/data/inbox.db", "--json", "--show-content"]);
    expect(list.stderr.toString()).toBe("");
    for (const id of ["m-1", "m-2"]) expect(list.stdout.toString()).toContain(`"${id}"`);
  });
});

interface Image {
  /** Its root file system. */
  readonly root: string;
  readonly config: {
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly Healthcheck: { readonly Test: readonly string[] };
  };
}

/** As the page says, from a tarball of this package, on a base that has what `node:24-slim` has of Debian, Node and npm. */
async function build(folder: string): Promise<Image> {
  const packed = await pack();
  const context = join(folder, "context");
  cpSync(join(root, "deploy"), context, { recursive: true });
  cpSync(packed.tarball, join(context, "hookline.tgz"));
  packed.remove();
  mkdirSync(join(folder, "base"));
  makeBase(join(folder, "base/root"));
  writeFileSync(join(folder, "base/Dockerfile"), "FROM scratch\nADD root /\n");
  const storage = ["--root", join(folder, "storage"), "--runroot", join(folder, "run"), "--storage-driver", "vfs"];
  const buildah = (...args: readonly string[]): string => must("buildah", [...storage, ...args]);
  const bud = ["bud", "--quiet", "--format", "docker", "--isolation", "chroot"];
  buildah(...bud, "--tag", "base", join(folder, "base"));
  const args = ["BASE=localhost/base", "PACKAGE=/context/hookline.tgz"].flatMap((arg) => ["--build-arg", arg]);
  buildah(...bud, ...args, "--tag", "hookline", context);
  const container = buildah("from", "localhost/hookline").trim();
  const { Docker } = JSON.parse(buildah("inspect", "--type", "image", "localhost/hookline")) as {
    Docker: { config: Image["config"] };
  };
  return { root: buildah("mount", container).trim(), config: Docker.config };
}

function makeBase(folder: string): void {
  // Nothing of it needs to be set up: its files are enough.
  const packages = "base-files,ca-certificates,coreutils,dash,libstdc++6";
  must("mmdebstrap", ["--quiet", "--variant=extract", `--include=${packages}`, "bookworm", folder]);
  const put = (from: string, to: string): void => {
    if (!existsSync(from)) return;
    mkdirSync(dirname(join(folder, to)), { recursive: true });
    cpSync(from, join(folder, to), { recursive: true, dereference: true });
  };
  put(process.execPath, "usr/local/bin/node");
  const npm = must("npm", ["root", "--global"]).trim();
  put(join(npm, "npm"), "usr/local/lib/node_modules/npm");
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(folder, "usr/local/bin/npm"));
  writeFileSync(join(folder, "etc/passwd"), "root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n");
  writeFileSync(join(folder, "etc/group"), "root:x:0:\nnode:x:1000:\n");
  // How this machine reaches npm's registry.
  put("/etc/ssl/certs/ca-certificates.crt", "etc/ssl/certs/ca-certificates.crt");
  put(must("npm", ["config", "get", "globalconfig"]).trim(), "usr/local/etc/npmrc");
}

/** What the image runs, in its root and as its user, on ports of this machine. */
async function start(image: Image, { readOnly = false } = {}) {
  const [port, admin] = [await freePort(), await freePort()];
  const { Entrypoint, Cmd } = image.config;
  const words = Cmd.map((word) => (word === "3001" ? String(admin) : word));
  // A mount namespace of its own; all of them become the next program, so that signals reach Node.
  const script = `set -e
mount --rbind "$0" "$0"; cd "$0"; mount -t proc proc proc; mount --bind /dev dev
if [ -n "$READ_ONLY" ]; then mount --bind data data; mount -t tmpfs tmpfs tmp; mount -o remount,bind,ro .; fi
exec chroot --userspec=1000:1000 . "$@"`;
  const args = [
    "--mount",
    "--propagation",
    "private",
    "sh",
    "-c",
    script,
    image.root,
    ...Entrypoint,
    ...words,
    "--port",
    String(port),
  ];
  const child = spawn("unshare", args, {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      PATH,
      SIGNING_SECRET: SECRET,
      ...(readOnly && { READ_ONLY: "1" }),
    },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  createInterface(child.stdout).on("line", (line) => lines.push(line));
  await eventually(async () => expect((await fetch(`http://127.0.0.1:${admin}/readyz`)).status).toBe(200));
  return { child, port, admin, lines };
}

/** The exit code of its health check. */
function probe(image: Image, admin: number): number | null {
  const [, ...words] = image.config.Healthcheck.Test;
  const own = image.config.Entrypoint.length;
  expect(words.slice(0, own)).toEqual(image.config.Entrypoint);
  return inside(image, [...words.slice(own), "--admin-url", `http://127.0.0.1:${admin}`]).status;
}

function inside(image: Image, words: readonly string[]) {
  const args = ["--userspec=1000:1000", image.root, ...image.config.Entrypoint, ...words];
  return spawnSync("chroot", args, { env: { PATH } });
}

async function deliver(port: number, id: string): Promise<number> {
  const body = bodyOf({ payloads: [change(id)] });
  const headers = signedHeaders(body, { secret: SECRET });
  return (await send(`http://127.0.0.1:${port}/webhooks`, { headers, body })).status;
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name));
}

/** @throws Error with all that it printed */
function must(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", maxBuffer: 64 * MIB });
  if (status !== 0)
    throw new Error(`${command} ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`, { cause: error });
  return stdout;
}
