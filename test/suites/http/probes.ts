import assert from "node:assert/strict";
import { probes, type Probe } from "../../../src/cli/check/probes.ts";
import { tryProbe } from "../../../src/cli/check/probes.ts";
import type { HttpPart, HttpParts } from "./http-case.ts";

const PARTS = { account: 0, subscription: 0, maxBodyBytes: 1024 * 1024 };

/** The probes of `hookline check`, as it sends them. */
export const probing: HttpParts = ({ platform }) => {
  const sent = probes.filter(({ method }) => !platform?.ownMethods?.includes(method));
  const short = sent.filter(({ isLong }) => !isLong);
  const long = sent.filter(({ isLong }) => isLong);
  return [toPart("probe", short), { ...toPart("long probe", long), needs: "longBodies" }];
};

function toPart(about: string, all: readonly Probe[]): HttpPart {
  const proofs = all.map((probe): [string, HttpPart["proofs"][string]] => [
    `${probe.name} gets ${probe.expects[0]}`,
    async ({ url, secret }) => {
      const tried = await tryProbe(probe, url, { ...PARTS, secret, now: new Date() });
      if ("error" in tried) throw tried.error;
      assert.equal(tried.answer.status, probe.expects[0]);
      assert.equal(probe.flaw?.(tried.answer), undefined);
    },
  ]);
  return { about, promise: "It answers what `hookline check` expects.", proofs: Object.fromEntries(proofs) };
}
