import type { InjectionRules } from "./rules.ts";

/** `ENABLE_NATIVE_SIDECARS`. */
export type NativeSidecarMode = "auto" | "enabled" | "disabled";

/** The first minor release of Kubernetes whose native sidecars are stable. */
const FIRST_MINOR = 33;

export function parseNativeSidecarMode(
  text: string | undefined,
  { nativeSidecars }: Pick<InjectionRules, "nativeSidecars">,
): {
  readonly mode: NativeSidecarMode;
  readonly warning?: string;
} {
  switch (text ?? "") {
    case "":
    case "auto":
      return { mode: nativeSidecars === "detected" ? "auto" : "disabled" };
    case "true":
      return { mode: "enabled" };
    case "false":
      return { mode: "disabled" };
    default:
      return {
        mode: "disabled",
        warning: `ENABLE_NATIVE_SIDECARS is ${JSON.stringify(text)}, allowed are auto, true, false: native sidecars are off`,
      };
  }
}

/**
 * Whether the proxy may be an init container that runs on. `kubelets` are the versions of the nodes the pod may land on; none are known
 * without a cluster. A version that cannot be read counts as too old.
 */
export function detectNativeSidecar(mode: NativeSidecarMode, kubelets: readonly string[] | undefined): boolean {
  if (mode !== "auto") return mode === "enabled";
  return (
    kubelets !== undefined &&
    kubelets.length > 0 &&
    kubelets.every((version) => {
      const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
      return major !== undefined && minor !== undefined && (Number(major) > 1 || Number(minor) >= FIRST_MINOR);
    })
  );
}

export function canBeNative({ nativeSidecars }: Pick<InjectionRules, "nativeSidecars">): boolean {
  return nativeSidecars !== "none";
}

/** The pod's annotation beats what the nodes allow, in releases that read it; any text but "false" means yes. */
export function isNative(
  annotation: string | undefined,
  detected: boolean,
  { nativeSidecars }: InjectionRules,
): boolean {
  const isRead = nativeSidecars === "detected" && annotation !== undefined && annotation !== "";
  return isRead ? annotation !== "false" : detected;
}
