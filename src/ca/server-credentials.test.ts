import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import "../../test/support/no-open-handles.ts";
import { type TemporaryFolder, temporaryFolder } from "../../test/support/files/temporary-folder.ts";
import { CloseStack } from "../base/close-stack.ts";
import { type Authority, startAuthority } from "./authority.ts";
import { createServerTls } from "./server-credentials.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const opened = new CloseStack();
let directory: TemporaryFolder;
let authority: Authority;
beforeEach(async () => {
  directory = opened.add(temporaryFolder());
  const selfSigned = { key: { type: "ecdsa", curve: "P256" } as const };
  authority = opened.add(
    await startAuthority({ directory: directory.path, trustDomain: "td", log: recordLog(), selfSigned }),
  );
});
afterEach(() => opened.close());

/** Certificates of this life, from a clock that the test moves. */
function serverTls(lifetimeMs: number) {
  const state = { passedMs: 0, issued: 0, broken: false };
  const now = () => new Date(Date.now() + state.passedMs);
  const tls = createServerTls({
    authority: {
      material: authority.material,
      onChange: authority.onChange,
      issueServer: async (hosts) => {
        state.issued += 1;
        if (state.broken) throw new Error("the signer is out of order");
        const issued = await authority.issueServer(hosts, lifetimeMs);
        return { ...issued, notAfter: new Date(now().getTime() + lifetimeMs) };
      },
    },
    hosts: ["localhost"],
    trustDomain: "td",
    now,
  });
  return { state, tls };
}

describe("the server's own certificate", () => {
  test.each([
    { lives: 30 * MINUTE, renewedAfter: 15 * MINUTE },
    { lives: 10 * HOUR, renewedAfter: 9 * HOUR },
  ])("of $lives ms serves all connections and is renewed after $renewedAfter ms", async ({ lives, renewedAfter }) => {
    const { state, tls } = serverTls(lives);
    const first = await tls();
    for (let connection = 0; connection < 20; connection += 1) expect(await tls()).toBe(first);
    state.passedMs = renewedAfter - MINUTE;
    expect(await tls()).toBe(first);
    expect(state.issued).toBe(1);
    state.passedMs = renewedAfter + MINUTE;
    expect(await tls()).not.toBe(first);
    expect(state.issued).toBe(2);
  });

  test("goes on to serve while it is valid when its renewal fails, and is renewed when that works again", async () => {
    const { state, tls } = serverTls(10 * HOUR);
    const first = await tls();
    state.passedMs = 9.5 * HOUR;
    state.broken = true;
    expect(await tls()).toBe(first);
    state.broken = false;
    expect(await tls()).not.toBe(first);
    state.passedMs += 11 * HOUR;
    state.broken = true;
    await expect(tls()).rejects.toThrow("out of order");
  });
});
