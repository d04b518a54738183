import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import manifest from "../../package.json" with { type: "json" };
import { parseArguments } from "../../src/cli/arguments.ts";
import { serve } from "../../src/cli/serve.ts";
import { root } from "../docs/pages.ts";

interface Service {
  readonly image: string;
  readonly build?: string;
  readonly profiles: readonly string[];
  readonly command: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly restart: string;
  readonly stop_grace_period: string;
  readonly [setting: string]: unknown;
}

const text = readFileSync(join(root, "deploy/compose.yaml"), "utf8");
const { services, volumes } = parse(text, { merge: true }) as {
  services: Readonly<Record<string, Service>>;
  volumes: object;
};
const gateways = Object.entries(services).filter(([, { build }]) => build !== undefined);

describe("deploy/compose.yaml", () => {
  test("has the gateway with a file, and with a database", () => {
    expect(gateways.map(([, { profiles }]) => profiles)).toEqual([["sqlite"], ["postgres"]]);
    expect(Object.values(services).flatMap(({ volumes: of = [] }) => of.map((one) => one.split(":")[0]))).toEqual(
      Object.keys(volumes),
    );
  });

  test.each(gateways)("%s: arguments that the program knows, and no secret in them", (_, service) => {
    expect(service.image).toBe(`hookline:${manifest.version}`);
    const [command, ...args] = service.command.map((arg) => arg.replace(/\$\{\w+:\?[^}]*\}/, "http://app:8000/events"));
    expect(command).toBe(serve.name);
    const flags = parseArguments(args, serve.flags);
    expect(flags).toMatchObject({ host: "0.0.0.0", port: 3000, "admin-port": 3001, "admin-host": undefined });
    expect(service.command.join(" ")).not.toMatch(/SECRET|PASSWORD|:\/\/[^/@\s]*:[^/@\s]*@/);
    for (const name of ["SIGNING_SECRET", "FORWARD_SECRET"])
      expect(service.environment[name]).toMatch(new RegExp(`^\\$\\{${name}:\\?.+\\}$`));
  });

  test.each(gateways)("%s: reached by this machine alone, without privileges, with the time to end", (_, service) => {
    expect(service.ports).toEqual(["127.0.0.1:3000:3000"]);
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
      stop_grace_period: "40s",
      restart: "unless-stopped",
    });
  });

  test("what is not the gateway's own is in no port of this machine", () => {
    for (const { build, ports } of Object.values(services)) if (build === undefined) expect(ports).toBeUndefined();
  });
});
