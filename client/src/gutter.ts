// Marks beside the lines of the findings' stories, and words at the end of those of the story at the cursor.

import * as vscode from "vscode";
import { isOurs } from "./selectors";
import { SECTION, setting } from "./settings";
import { type Finding, type Mark, marksOf, type Role, RUN, SOURCES, storiesAt } from "./story";

const ROLES: readonly Role[] = ["saved", "written", "walked", "made"];
const RENEW_MS = 60;

/** Keeps the decorations of all visible editors up to date. */
export class Gutter implements vscode.Disposable {
  private readonly marks: Record<Role, vscode.TextEditorDecorationType>;
  private readonly words: vscode.TextEditorDecorationType;
  private readonly watches: vscode.Disposable;
  private timer: NodeJS.Timeout | undefined;

  constructor(context: vscode.ExtensionContext) {
    const type = (role: Role) =>
      vscode.window.createTextEditorDecorationType({
        gutterIconPath: context.asAbsolutePath(`client/media/gutter/${role}.svg`),
        gutterIconSize: "contain",
        overviewRulerLane: vscode.OverviewRulerLane.Left,
      });
    this.marks = { saved: type("saved"), written: type("written"), walked: type("walked"), made: type("made") };
    this.words = vscode.window.createTextEditorDecorationType({ isWholeLine: true });
    const soon = () => this.soon();
    this.watches = vscode.Disposable.from(
      vscode.languages.onDidChangeDiagnostics(soon),
      vscode.window.onDidChangeVisibleTextEditors(soon),
      vscode.window.onDidChangeActiveTextEditor(soon),
      vscode.window.onDidChangeTextEditorSelection(soon),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration(`${SECTION}.gutterMarks`)) soon();
      }),
    );
    soon();
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.watches.dispose();
    for (const role of ROLES) this.marks[role].dispose();
    this.words.dispose();
  }

  private soon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.renew(), RENEW_MS);
  }

  private renew(): void {
    const wanted = setting<string>("gutterMarks");
    const findings = wanted === "off" ? [] : allFindings();
    const active = vscode.window.activeTextEditor;
    // What a run found out stands at its lines already, as inlay text.
    const ran = new Set(findings.filter(({ source }) => source === RUN).map(({ uri, line }) => `${uri}:${line}`));
    const told = active ? storiesAt(findings, ...placeOf(active)) : [];
    const shown = wanted === "atCursor" ? told : findings;
    for (const editor of vscode.window.visibleTextEditors) {
      const words = told.flatMap(marksOf).filter(({ uri, line }) => !ran.has(`${uri}:${line}`));
      if (isOurs(editor.document)) this.decorate(editor, shown.flatMap(marksOf), words);
    }
  }

  private decorate(editor: vscode.TextEditor, marks: readonly Mark[], told: readonly Mark[]): void {
    const uri = editor.document.uri.toString();
    const inside = (mark: Mark) => mark.uri === uri && mark.line < editor.document.lineCount;
    const own = marks.filter(inside);
    for (const role of ROLES) {
      const lines = new Set(own.filter((mark) => mark.role === role).map((mark) => mark.line));
      editor.setDecorations(
        this.marks[role],
        [...lines].map((line) => editor.document.lineAt(line).range),
      );
    }
    editor.setDecorations(this.words, wordsOf(told.filter(inside), editor.document));
  }
}

function wordsOf(marks: readonly Mark[], document: vscode.TextDocument): vscode.DecorationOptions[] {
  const lines = new Map<number, Set<string>>();
  for (const mark of marks) {
    lines.set(mark.line, (lines.get(mark.line) ?? new Set()).add(mark.words.replaceAll("`", "")));
  }
  return [...lines].map(([line, words]) => ({
    range: document.lineAt(line).range,
    renderOptions: {
      after: {
        contentText: [...words].join(", "),
        color: new vscode.ThemeColor("editorCodeLens.foreground"),
        fontStyle: "italic",
        margin: "0 0 0 2em",
      },
    },
  }));
}

function placeOf(editor: vscode.TextEditor): [string, number] {
  return [editor.document.uri.toString(), editor.selection.active.line];
}

function allFindings(): Finding[] {
  return vscode.languages.getDiagnostics().flatMap(([uri, diagnostics]) =>
    diagnostics.filter(isMarked).map((diagnostic) => ({
      uri: uri.toString(),
      line: diagnostic.range.start.line,
      code: codeOf(diagnostic),
      source: diagnostic.source ?? "",
      related: (diagnostic.relatedInformation ?? []).map(({ location, message }) => ({
        uri: location.uri.toString(),
        line: location.range.start.line,
        message,
      })),
    })),
  );
}

function isMarked(diagnostic: vscode.Diagnostic): boolean {
  return SOURCES.includes(diagnostic.source ?? "") && diagnostic.severity <= vscode.DiagnosticSeverity.Warning;
}

function codeOf({ code }: vscode.Diagnostic): string {
  return String(typeof code === "object" ? code.value : (code ?? ""));
}
