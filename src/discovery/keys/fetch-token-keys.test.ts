import type { RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { makeCertificate } from "../../../test/support/certs/certificates.ts";
import { startHttpServer } from "../../../test/support/net/http-server.ts";
import { CloseStack } from "../../base/close-stack.ts";
import { fetchTokenKeys, MAX_BYTES } from "./fetch-token-keys.ts";

const KEYS = '{"keys":[{"kty":"oct","k":"c2VjcmV0","alg":"HS256"}]}';
const SECRET = "what-was-answered";

const opened = new CloseStack();
afterEach(() => opened.close());

/** A server of an issuer; `asked` are the paths of its requests. */
async function serve(answer: RequestListener): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = await startHttpServer((request, response) => {
    asked.push(request.url ?? "");
    answer(request, response);
  });
  opened.add(server);
  return { url: `http://127.0.0.1:${server.port}`, asked };
}

const fetchFrom = (jwksUri: string, { issuer = "", timeoutMs = 5000, signal = new AbortController().signal } = {}) =>
  fetchTokenKeys({ jwksUri, issuer }, { timeoutMs, signal });
const redirect =
  (to: (path: string) => string): RequestListener =>
  (request, response) =>
    void response.writeHead(302, { location: to(request.url ?? "") }).end(SECRET);

describe("keys at an address of their own", () => {
  test("are taken as they are", async () => {
    const { url, asked } = await serve((_, response) => void response.end(KEYS));
    expect(await fetchFrom(`${url}/keys?v=1`)).toBe(KEYS);
    expect(asked).toEqual(["/keys?v=1"]);
  });

  test.each<{ answer: RequestListener; says: RegExp }>([
    { answer: (_, response) => void response.writeHead(500).end(SECRET), says: /keys answers with status 500$/ },
    { answer: (_, response) => void response.writeHead(302).end(SECRET), says: /keys answers with status 302$/ },
    { answer: (_, response) => void response.end(SECRET), says: /keys is not a key set: not JSON$/ },
    { answer: (_, response) => void response.end(`{"a":"${SECRET}"}`), says: /is not a key set: no list of keys$/ },
    { answer: (_, response) => void response.end('{"keys":[]}'), says: /is not a key set: no key that can be used/ },
    { answer: (request) => void request.socket.destroy(), says: /GET http:\/\/127\.0\.0\.1:\d+\/keys: / },
    { answer: redirect(() => "file:///etc/passwd"), says: /redirects to another scheme, file$/ },
    { answer: redirect(() => "https://127.0.0.1/"), says: /redirects to another scheme, https$/ },
    { answer: redirect(() => "http://["), says: /redirects to what is not an address$/ },
    { answer: redirect(() => "/keys"), says: /redirects more than 5 times$/ },
  ])("are refused, without telling of the answer: $says", async ({ answer, says }) => {
    const { url } = await serve(answer);
    const failure = await fetchFrom(`${url.replace("//", "//user:pass@")}/keys?token=x`).catch(
      (thrown: Error) => thrown,
    );
    expect(failure).toBeInstanceOf(Error);
    expect((failure as Error).message).toMatch(says);
    expect((failure as Error).message).not.toMatch(/what-was|token=|pass/);
  });

  test("may take their time where the rule allows a month", async () => {
    const { url } = await serve((_, response) => void setTimeout(() => response.end(KEYS), 50));
    expect(await fetchFrom(`${url}/keys`, { timeoutMs: 31 * 24 * 3_600_000 })).toBe(KEYS);
  });

  test("may be moved a few times", async () => {
    const { url, asked } = await serve((request, response) => {
      const step = Number(request.url?.slice(2));
      if (step < 5) redirect(() => `/m${step + 1}`)(request, response);
      else response.end(KEYS);
    });
    expect(await fetchFrom(`${url}/m0`)).toBe(KEYS);
    expect(asked).toHaveLength(6);
  });

  test("may not be larger than the limit", async () => {
    const pad = " ".repeat(MAX_BYTES - KEYS.length);
    const { url } = await serve(
      (request, response) => void response.end(KEYS + pad + (request.url === "/much" ? " " : "")),
    );
    expect(await fetchFrom(`${url}/fits`)).toBe(KEYS + pad);
    await expect(fetchFrom(`${url}/much`)).rejects.toThrow("the answer is too large");
  });

  test("have to come in time, redirects included", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    opened.defer(async () => void vi.useRealTimers());
    const { url, asked } = await serve((request, response) => {
      // Half of the time for each of the two, and a little more.
      vi.advanceTimersByTime(50);
      if (request.url === "/moved") redirect(() => "/hangs")(request, response);
    });
    await expect(fetchFrom(`${url}/moved`, { timeoutMs: 80 })).rejects.toThrow(/\/hangs: no answer within/);
    expect(asked).toEqual(["/moved", "/hangs"]);
  });

  test("are not waited for by who is asked to stop", async () => {
    const stop = new AbortController();
    const { url } = await serve(() => stop.abort());
    await expect(fetchFrom(url, { signal: stop.signal })).rejects.toThrow("cancelled");
  });
});

describe("keys over https", () => {
  async function serveTls(answer: RequestListener) {
    const { pem, keyPem } = await makeCertificate({ isCa: false, hosts: ["127.0.0.1"] });
    const server = createTlsServer({ cert: pem, key: keyPem }, answer);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    opened.defer(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test("are not taken from a server that no public authority vouches for", async () => {
    let asked = 0;
    const url = await serveTls((_, response) => {
      asked += 1;
      response.end(KEYS);
    });
    await expect(fetchFrom(`${url}/keys`)).rejects.toThrow(/^GET https:.*(self-signed|unable to verify)/);
    expect(asked).toBe(0);
  });
});

describe("keys where the issuer says", () => {
  test.each(["", "/tenant", "/tenant/"])("are found by its document: issuer ends with '%s'", async (path) => {
    const { url, asked } = await serve((request, response) => {
      const isDocument = request.url?.endsWith("/.well-known/openid-configuration");
      response.end(isDocument ? JSON.stringify({ jwks_uri: `http://${request.headers.host}/certs` }) : KEYS);
    });
    expect(await fetchFrom("", { issuer: url + path })).toBe(KEYS);
    expect(asked).toEqual([`${path.replace(/\/$/, "")}/.well-known/openid-configuration`, "/certs"]);
  });

  test.each([
    { document: "{}", says: /openid-configuration names no jwks_uri$/ },
    { document: "no", says: /openid-configuration names no jwks_uri$/ },
    { document: '{"jwks_uri":"file:///etc/passwd"}', says: /^the jwks_uri is not an http or https address$/ },
    { document: '{"jwks_uri":7}', says: /names no jwks_uri$/ },
  ])("cannot be found in $document", async ({ document, says }) => {
    const { url } = await serve((_, response) => void response.end(document));
    await expect(fetchFrom("", { issuer: url })).rejects.toThrow(says);
  });

  test.each(["login", "ftp://login.example", ""])("cannot be found when the issuer is '%s'", async (issuer) => {
    await expect(fetchFrom("", { issuer })).rejects.toThrow("the issuer is not an http or https address");
  });
});
