import * as m from "./matches.ts";
import type { Step } from "./rule-list.ts";
import { isTproxy, splitList } from "./settings.ts";

/** Set on the proxy's calls to its own pod, so that the inbound rules let exactly these pass the loopback exemption. */
const SELF_CALL_MARK = "1338";

/** Mark bookkeeping of TPROXY mode; written even without inbound ports. */
export const tproxyMarks: Step = (list) => {
  if (!isTproxy(list.settings)) return;
  const { tproxyMark, proxyUid, proxyGid } = list.settings;
  const marked = m.mark(tproxyMark);
  list.add({ table: "mangle", chain: "PREROUTING", matches: [m.tcp, marked], target: { kind: "save-mark" } });
  list.add({ table: "mangle", chain: "OUTPUT", matches: [m.tcp, m.to("lo"), marked], target: m.done });
  const owners = [
    ...splitList(proxyUid).map((uid) => m.owner("uid", uid)),
    ...splitList(proxyGid).map((gid) => m.owner("gid", gid)),
  ];
  for (const owner of owners) {
    for (const family of list.families) {
      const away = m.notDestination(m.loopback(list.settings, family));
      list.add({
        table: "mangle",
        chain: "OUTPUT",
        family,
        matches: [away, m.tcp, m.to("lo"), owner],
        target: { kind: "set-mark", value: SELF_CALL_MARK },
      });
    }
  }
  list.add({
    table: "mangle",
    chain: "OUTPUT",
    matches: [m.tcp, { kind: "connmark", value: tproxyMark }],
    target: { kind: "restore-mark" },
  });
  const inbound = { table: "mangle", chain: "ISTIO_INBOUND", target: m.done } as const;
  list.add({ ...inbound, position: 1, matches: [m.tcp, marked] });
  for (const family of list.families) {
    list.add({ ...inbound, position: 2, family, matches: [m.tcp, m.source(m.passthrough(family)), m.from("lo")] });
  }
  const notSelfCall = { kind: "mark", value: SELF_CALL_MARK, not: true } as const;
  list.add({ ...inbound, position: 3, matches: [m.tcp, m.from("lo"), notSelfCall] });
};
