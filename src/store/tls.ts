import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import type { TlsFiles } from "../config/redis-url.ts";
import { messageOf, StartError } from "../errors.ts";

/**
 * The options of a TLS connection.
 * @throws StartError that names a file that cannot be read or has the wrong content, or a key that does not belong to the certificate
 */
export function tlsOptions({ ca, cert, key }: TlsFiles): Pick<ConnectionOptions, "ca" | "cert" | "key"> {
  const authorities = read(ca, "a certificate in PEM", (pem) => new X509Certificate(pem));
  const certificate = read(cert, "a certificate in PEM", (pem) => new X509Certificate(pem));
  const own = read(key, "a private key in PEM, without a passphrase", createPrivateKey);
  if (certificate && own && !certificate.parsed.checkPrivateKey(own.parsed)) {
    throw new StartError(`the key ${key} does not belong to the certificate ${cert}`);
  }
  return {
    ...(authorities && { ca: authorities.pem }),
    ...(certificate && { cert: certificate.pem }),
    ...(own && { key: own.pem }),
  };
}

function read<T>(
  file: string | undefined,
  what: string,
  parse: (pem: string) => T,
): { pem: string; parsed: T } | undefined {
  if (file === undefined) return undefined;
  let pem: string;
  try {
    pem = readFileSync(file, "utf8");
  } catch (error) {
    throw new StartError(`REDIS_URL names ${file}, which cannot be read: ${messageOf(error)}`, { cause: error });
  }
  try {
    return { pem, parsed: parse(pem) };
  } catch (error) {
    throw new StartError(`${file}, which REDIS_URL names, is not ${what}`, { cause: error });
  }
}
