import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A self-signed certificate, as applications in pods have them. */
export function createTestTls(): { readonly key: string; readonly cert: string } {
  const folder = mkdtempSync(join(tmpdir(), "status-tls-"));
  try {
    const [key, cert] = [join(folder, "key"), join(folder, "cert")];
    const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=app -keyout ${key} -out ${cert}`;
    execFileSync("openssl", words.split(" "), { stdio: "ignore" });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
