import { lookup as lookUp, type LookupAddress, type LookupOptions } from "node:dns";
import { BlockList, isIP } from "node:net";
import { UsageError } from "../../errors.ts";

/**
 * The URL of a receiver, as it is sent to.
 *
 * @throws UsageError `subscription-refused` for anything but http and https, and for a public address
 */
export function toNotificationUrl(given: string, allowRemote: boolean): URL {
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    throw new UsageError(
      "subscription-refused",
      `The notificationUrl is ${JSON.stringify(given)}, expected a URL with http:// or https:// and without a password.`,
    );
  const host = url.hostname.replace(/^\[|\]$/g, "");
  // A name is looked at when it is resolved: what it leads to can change.
  if (!allowRemote && isIP(host) !== 0 && !isLocal(host)) throw remote(host);
  return url;
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** Resolves a name as `dns.lookup` does, but not to a public address. */
export function guardedLookup(hostname: string, options: LookupOptions, callback: LookupCallback): void {
  lookUp(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, []);
    const [first] = addresses;
    const outside = addresses.find(({ address }) => !isLocal(address));
    if (first === undefined || outside !== undefined)
      return callback(remote(`${hostname} (${outside?.address ?? "no address"})`), []);
    return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family);
  });
}

/** Loopback, private and link-local addresses. @see RFC 6890 */
const LOCAL = new BlockList();
LOCAL.addAddress("0.0.0.0");
LOCAL.addSubnet("127.0.0.0", 8);
LOCAL.addSubnet("10.0.0.0", 8);
LOCAL.addSubnet("172.16.0.0", 12);
LOCAL.addSubnet("192.168.0.0", 16);
LOCAL.addSubnet("169.254.0.0", 16);
LOCAL.addAddress("::1", "ipv6");
LOCAL.addSubnet("fc00::", 7, "ipv6");
LOCAL.addSubnet("fe80::", 10, "ipv6");

function isLocal(address: string): boolean {
  return LOCAL.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

function remote(host: string): UsageError {
  return new UsageError("subscription-refused", `The notificationUrl leads to ${host}, which is no private address.`, {
    fix: "The emulator sends to this machine and to private networks; give allowRemote (--allow-remote) for others.",
  });
}
