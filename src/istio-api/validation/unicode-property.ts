const CATEGORIES = new Set(
  "Any C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs".split(" "),
);
/** Scripts whose full name is as short as an abbreviation. */
const SHORT_SCRIPTS = new Set(["Cham", "Kawi", "Lisu", "Modi", "Newa", "Thai", "Toto"]);

/** Names that RE2 knows: general categories in short form, and scripts in long form. The runtime has the list of scripts. */
export function isUnicodeProperty(name: string): boolean {
  if (CATEGORIES.has(name)) return true;
  if (name.length === 4 && !SHORT_SCRIPTS.has(name)) return false;
  try {
    new RegExp(`\\p{Script=${name}}`, "u");
    return true;
  } catch {
    return false;
  }
}
