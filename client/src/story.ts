// Which part each line plays in the story of a finding, read from the words of the server.

/** What happens on a line of a story. */
export type Role = "saved" | "written" | "walked" | "made";

/** The source of diagnostics that tell what a run found out. */
export const RUN = "gradsense run";
/** The sources of diagnostics that are ours. */
export const SOURCES: readonly string[] = ["gradsense", RUN];

/** What marks need to know about a related line; lines count from 0. */
export interface RelatedLine {
  uri: string;
  line: number;
  message: string;
}

/** What marks need to know about a diagnostic. */
export interface Finding {
  uri: string;
  line: number;
  code: string;
  source: string;
  related: readonly RelatedLine[];
}

/** A mark beside one line. */
export interface Mark {
  uri: string;
  line: number;
  role: Role;
  words: string;
  /** The line of the finding whose story this is. */
  of: { uri: string; line: number };
}

const WORDS: readonly [RegExp, Role][] = [
  [/\bsaved\b/, "saved"],
  [/\b(written|writes|wrote|stepped)\b/, "written"],
  [/\b(walk|walked|freed|surfaces)\b/, "walked"],
  [/\b(made|computed)\b/, "made"],
];

/** The part that a related line plays, or undefined where it is only on the way (a call). */
export function roleOf(message: string): Role | undefined {
  return WORDS.find(([words]) => words.test(message))?.[1];
}

/** The marks of a finding: its related lines, and its own line where the finding is itself a write. */
export function marksOf(finding: Finding): Mark[] {
  const of = { uri: finding.uri, line: finding.line };
  const marks: Mark[] = [];
  if (/^GS2/.test(finding.code)) {
    marks.push({ ...of, role: "written", words: "written here", of });
  }
  for (const { uri, line, message } of finding.related) {
    const role = roleOf(message);
    if (role) marks.push({ uri, line, role, words: message, of });
  }
  return marks;
}

/** The stories to tell at a line: those of the findings that stand on it, else those that come by it. */
export function storiesAt<T extends Finding>(findings: readonly T[], uri: string, line: number): T[] {
  const here = (place: { uri: string; line: number }) => place.uri === uri && place.line === line;
  const standing = findings.filter(here);
  if (standing.length > 0) return standing;
  return findings.filter(({ related }) => related.some((other) => here(other) && roleOf(other.message)));
}
