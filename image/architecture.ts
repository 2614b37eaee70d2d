/** What differs between the platforms of an image. */
const ARCHITECTURES = {
  amd64: {
    /** As Node and npm say it. */
    node: "x64",
    /** Of ELF files. */
    machine: 62,
    /** Where the loader looks without a configuration, on Debian. */
    libraryFolders: ["/usr/lib/x86_64-linux-gnu", "/usr/lib", "/usr/lib64"],
  },
  arm64: { node: "arm64", machine: 183, libraryFolders: ["/usr/lib/aarch64-linux-gnu", "/usr/lib"] },
} as const;

/** As OCI and Debian say it. */
export type Architecture = keyof typeof ARCHITECTURES;

export function architectureFacts(architecture: Architecture) {
  return ARCHITECTURES[architecture];
}

/** `amd64,arm64`: in this order, each once. Throws for others. */
export function parseArchitectures(text: string): Architecture[] {
  const isKnown = (name: string): name is Architecture => Object.hasOwn(ARCHITECTURES, name);
  const names = text.split(",").map((name) => {
    if (isKnown(name)) return name;
    const allowed = Object.keys(ARCHITECTURES).join(", ");
    throw new Error(`--arch ${text}: "${name}" is not among ${allowed} (several are separated by commas)`);
  });
  return [...new Set(names)];
}

/** Undefined on a machine that no image is for. */
export function thisArchitecture(): Architecture | undefined {
  if (process.platform !== "linux") return undefined;
  const found = Object.entries(ARCHITECTURES).find(([, { node }]) => node === process.arch);
  return found?.[0] as Architecture | undefined;
}
