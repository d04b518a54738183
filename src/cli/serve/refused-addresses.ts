import { lookup as systemLookup, type LookupAddress } from "node:dns";
import { BlockList, isIPv6, type LookupFunction } from "node:net";
import { HooklineError } from "../../index.ts";

/**
 * Link-local addresses: there clouds give credentials to every program of a machine. `BlockList` finds them in IPv6's mapped form too.
 *
 * @see https://www.rfc-editor.org/rfc/rfc3927
 */
const LINK_LOCAL = new BlockList();
LINK_LOCAL.addSubnet("169.254.0.0", 16, "ipv4");
LINK_LOCAL.addSubnet("::a9fe:0", 112, "ipv6"); // the same, IPv4-compatible
LINK_LOCAL.addSubnet("64:ff9b::a9fe:0", 112, "ipv6"); // the same, through NAT64
LINK_LOCAL.addSubnet("fd00:ec2::", 32, "ipv6"); // AWS

/** Whether an address is one where clouds give credentials away. */
export function isLinkLocal(address: string): boolean {
  const [bare = ""] = address.split("%"); // without a zone
  return LINK_LOCAL.check(bare, isIPv6(bare) ? "ipv6" : "ipv4");
}

/** A look-up whose link-local results are errors. The connection is made to what it gave: a name cannot change in between. */
export function guardLookup(lookup: typeof systemLookup = systemLookup): LookupFunction {
  return (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      const [first] = found ?? [];
      if (error !== null || first === undefined) return done(error ?? notFound(hostname), "");
      const refused = found.find(({ address }) => isLinkLocal(address));
      if (refused !== undefined) return done(toRefusal(hostname, refused.address), "");
      return options.all === true ? done(null, found) : done(null, first.address, first.family);
    });
  };
}

function notFound(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`There is no address of ${hostname}.`), { code: "ENOTFOUND" });
}

function toRefusal(hostname: string, address: string): HooklineError {
  return new HooklineError("forward-refused", `${hostname} is ${address}, the address of a cloud's metadata.`, {
    fix: "Correct the name's address; or pass --allow-link-local if an app is really there.",
  });
}
