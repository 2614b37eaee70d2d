import { execFileSync } from "node:child_process";
import { chmod, mkdir, readFile, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { afterEach, describe, expect, test } from "vitest";
import "../../../test/support/no-open-handles.ts";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { startHttpServer } from "../../../test/support/net/http-server.ts";
import { startFakeGoogle } from "../../../test/support/sts/google-endpoints.ts";
import { CloseStack } from "../../base/close-stack.ts";
import { silentLogger } from "../../base/logger.ts";
import { MetricRegistry } from "../../base/metric-registry.ts";
import { Secret } from "../../base/secret.ts";
import { fileTokenFetcher, startTokenFetcher } from "./create-token-fetcher.ts";
import { exchangeToken, exchangingFetcher, type TokenExchangeOptions } from "./exchange-token.ts";
import { type GceTokenOptions, needsRefresh, startGceTokenFetcher } from "./gce-token.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const jwt = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.sig`;

describe("a token file", () => {
  test("is read and trimmed at every call; missing and empty ones give no token", async () => {
    await using directory = temporaryFolder();
    const log = recordLog();
    const fetcher = fileTokenFetcher({ path: directory.file("token"), log });
    expect(await fetcher.fetch()).toBeUndefined();
    expect(log.lines).toMatchObject([{ level: "warn", fields: { error: "ENOENT" } }]);
    await writeFile(directory.file("token"), "");
    expect(await fetcher.fetch()).toBeUndefined();
    await writeFile(directory.file("token"), "\n one \n");
    expect((await fetcher.fetch())?.reveal()).toBe("one");
    await writeFile(directory.file("token"), "two");
    expect((await fetcher.fetch())?.reveal()).toBe("two");
    expect(log.text()).not.toMatch(/one|two/);
  });

  test.each([
    { what: "a directory", make: (path: string) => mkdir(path), says: "is a directory" },
    { what: "a pipe", make: async (path: string) => void execFileSync("mkfifo", [path]), says: "not a regular file" },
    {
      what: "a file of gigabytes",
      make: async (path: string) => {
        await writeFile(path, "");
        await truncate(path, 3e9);
      },
      says: "larger than 262144 bytes",
    },
    { what: "a link to itself", make: (path: string) => symlink(path, path), says: "ELOOP" },
  ])("that is $what gives no token at once, and the log says why", async ({ make, says }) => {
    await using directory = temporaryFolder();
    const log = recordLog();
    await make(directory.file("token"));
    expect(await fileTokenFetcher({ path: directory.file("token"), log }).fetch()).toBeUndefined();
    expect(log.text()).toContain(says);
  });
});

describe("the kinds of fetchers", () => {
  const options = { tokenPath: "", trustDomain: "td", identityProvider: "idp", log: silentLogger };

  test.each(["", "JWT"])("type %j without a path gives none", (type) => {
    expect(startTokenFetcher({ ...options, type })).toBeUndefined();
  });

  test("Mock gives a constant", async () => {
    const fetcher = startTokenFetcher({ ...options, type: "Mock" });
    expect([fetcher?.identityProvider, (await fetcher?.fetch())?.reveal()]).toEqual(["fakeIDP", "test_token"]);
  });

  test("Google's without a path, and an unknown type, are refused", () => {
    expect(() => startTokenFetcher({ ...options, type: "GoogleComputeEngine" })).toThrow("jwtPath is unset");
    expect(() => startTokenFetcher({ ...options, type: "x" })).toThrow(
      "failed to create credential fetcher: invalid credential fetcher type x",
    );
  });
});

describe("a Google machine's token", () => {
  const startMetadata = async (answer: (count: number) => { status?: number; body?: string }) => {
    const paths: string[] = [];
    const http = await startHttpServer((request, response) => {
      paths.push(`${request.headers["metadata-flavor"]} ${request.url}`);
      const { status = 200, body = "" } = answer(paths.length);
      response.writeHead(status).end(body);
    });
    opened.add(http);
    return { url: http.url, paths };
  };
  const start = async (
    options: Partial<GceTokenOptions> & { readonly tokenPath: string; readonly metadataUrl: string },
  ) => {
    const log = recordLog();
    const fetcher = startGceTokenFetcher({
      audience: "t/d",
      identityProvider: "idp",
      log,
      attemptDelayMs: 1,
      ...options,
    });
    opened.add(fetcher);
    return { fetcher, log };
  };

  test("is asked for with the trust domain as audience, returned trimmed and written as it came", async () => {
    await using directory = temporaryFolder();
    const metadata = await startMetadata(() => ({ body: "token\n" }));
    const { fetcher } = await start({ tokenPath: directory.file("t"), metadataUrl: metadata.url });
    expect((await fetcher.fetch())?.reveal()).toBe("token");
    expect(metadata.paths).toEqual([
      "Google /computeMetadata/v1/instance/service-accounts/default/identity?audience=t%2Fd&format=full",
    ]);
    expect(await readFile(directory.file("t"), "utf8")).toBe("token\n");
    expect((await stat(directory.file("t"))).mode & 0o777).toBe(0o640);
    await chmod(directory.file("t"), 0o600);
    await fetcher.fetch();
    expect((await stat(directory.file("t"))).mode & 0o777).toBe(0o600);
  });

  test("is asked for again after server errors, not after a refusal", async () => {
    await using directory = temporaryFolder();
    const flaky = await startMetadata((count) => (count < 3 ? { status: 503 } : { body: "good" }));
    const { fetcher } = await start({ tokenPath: directory.file("t"), metadataUrl: flaky.url });
    expect((await fetcher.fetch())?.reveal()).toBe("good");
    const refusing = await startMetadata(() => ({ status: 404 }));
    const { fetcher: refused } = await start({ tokenPath: directory.file("t"), metadataUrl: refusing.url });
    await expect(refused.fetch()).rejects.toMatchObject({
      code: "unavailable",
      message: "the metadata server gave no identity token: status 404",
    });
    expect(refusing.paths).toHaveLength(1);
  });

  test("that cannot be had or written is an error", async () => {
    await using directory = temporaryFolder();
    const { fetcher } = await start({ tokenPath: directory.file("t"), metadataUrl: "http://127.0.0.1:1" });
    await expect(fetcher.fetch()).rejects.toMatchObject({ code: "unavailable" });
    const metadata = await startMetadata(() => ({ body: "secret" }));
    const { fetcher: unwritable } = await start({ tokenPath: directory.file("no/t"), metadataUrl: metadata.url });
    await expect(unwritable.fetch()).rejects.toMatchObject({
      message: `cannot write the token to ${directory.file("no/t")}: ENOENT`,
    });
  });

  test("is refreshed in the background while it is old, and no more after the stop", async () => {
    await using directory = temporaryFolder();
    const now = 1_000_000_000_000;
    const metadata = await startMetadata((count) => ({
      body: jwt(count === 1 ? { exp: now / 1000 + 60 } : { exp: now / 1000 + 3600 }),
    }));
    const options = { tokenPath: directory.file("t"), metadataUrl: metadata.url, refreshIntervalMs: 5, now: () => now };
    const { fetcher } = await start(options);
    await expect.poll(() => metadata.paths.length).toBe(2);
    await fetcher.stop();
    await expect(fetcher.fetch()).rejects.toMatchObject({ code: "unavailable" });
    expect(metadata.paths).toHaveLength(2);
  });

  test.each([
    { token: undefined, refresh: true },
    { token: "no jwt", refresh: true },
    { token: jwt({}), refresh: true },
    { token: jwt({ exp: "x" }), refresh: true },
    { token: jwt({ exp: 10_000 }), refresh: false },
    { token: jwt({ exp: 2_500 }), refresh: false },
    { token: jwt({ exp: 2_499 }), refresh: true },
  ])("$token at second 1000 needs a refresh: $refresh", ({ token, refresh }) => {
    expect(needsRefresh(token, 1000)).toBe(refresh);
  });
});

describe("a token exchange for the CA", () => {
  const start = async () => {
    const google = await startFakeGoogle();
    opened.add(google);
    const registry = new MetricRegistry();
    const retries = registry.counter({ name: "retries", help: "", labels: ["request_type"] });
    const options: TokenExchangeOptions = {
      trustDomain: "td",
      identityProvider: "idp",
      endpoint: `${google.url}/v1/token`,
      attemptDelayMs: 1,
      retries,
      log: silentLogger,
    };
    return { google, registry, options };
  };

  test("trades every token of the fetcher, and none for none", async () => {
    const { google, options } = await start();
    let token: Secret | undefined = new Secret("subject");
    const inner = { identityProvider: "idp", fetch: async () => token, stop: async () => undefined };
    const fetcher = exchangingFetcher(inner, options);
    expect((await fetcher.fetch())?.reveal()).toBe("federated-token");
    expect(google.calls[0]?.body).toMatchObject({ audience: "identitynamespace:td:idp", subjectToken: "subject" });
    token = undefined;
    expect(await fetcher.fetch()).toBeUndefined();
    expect(google.calls).toHaveLength(1);
    await fetcher.stop();
  });

  test.each([
    { what: "a server error", answer: { status: 500 }, tries: 5 },
    { what: "a cut connection", answer: { cut: true }, tries: 5 },
    { what: "not implemented", answer: { status: 501 }, tries: 1 },
    { what: "network authentication", answer: { status: 511 }, tries: 1 },
    { what: "a refusal", answer: { status: 401 }, tries: 1 },
  ])("$what is tried $tries times", async ({ answer, tries }) => {
    const { google, registry, options } = await start();
    google.answer("federated", answer);
    await expect(exchangeToken(new Secret("s3cret"), options)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.not.stringContaining("s3cret"),
    });
    expect(google.count("federated")).toBe(tries);
    const counted = tries > 1 ? `retries{request_type="token_exchange"} ${tries - 1}` : "";
    expect(registry.render()).toContain(counted);
  });

  test("an answer without a token is an error", async () => {
    const { google, options } = await start();
    google.answer("federated", { body: { access_token: "" } });
    await expect(exchangeToken(new Secret("x"), options)).rejects.toMatchObject({
      code: "empty",
      message: expect.stringContaining("exchanged empty token"),
    });
  });

  test("ends when it is cancelled", async () => {
    const { options } = await start();
    await expect(exchangeToken(new Secret("x"), options, AbortSignal.abort())).rejects.toMatchObject({
      code: "unavailable",
    });
  });
});
