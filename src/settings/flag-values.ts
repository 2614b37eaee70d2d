/** Parsed values by flag name. Asking for a name or type the command did not declare is a programming error and throws. */
export interface FlagValues {
  bool(name: string): boolean;
  int(name: string): number;
  string(name: string): string;
  duration(name: string): bigint;
  stringArray(name: string): readonly string[];
  /** True when the command line (not the environment, not the default) set it. */
  changed(name: string): boolean;
}
