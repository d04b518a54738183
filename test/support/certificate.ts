import { generateKeyPairSync, sign } from "node:crypto";

export interface Identity {
  /** PEM. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

/** A certificate that no authority signed but its own key, for a name of a host. */
export function selfSigned(commonName: string, { from, to }: { readonly from: Date; readonly to: Date }): Identity {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = der(0x30, Buffer.from("06082a8648ce3d040302", "hex")); // ecdsa-with-SHA256
  const name = der(0x30, der(0x31, der(0x30, Buffer.from("0603550403", "hex"), der(0x0c, Buffer.from(commonName)))));
  const body = der(
    0x30,
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    der(0x30, time(from), time(to)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
  );
  const signature = sign("sha256", body, privateKey);
  const certificate = der(0x30, body, algorithm, der(0x03, Buffer.from([0]), signature));
  const lines = certificate.toString("base64").replaceAll(/.{64}/g, "$&\n");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  };
}

/** @see X.690: a tag, a length, and what is in it */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

/** @see X.690: UTCTime, `YYMMDDhhmmssZ` */
function time(at: Date): Buffer {
  const digits = at.toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return der(0x17, Buffer.from(digits.slice(2)));
}
