// A person before a VS Code in a browser: what they see, and what they do. One editor and one browser a test file.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type FrameLocator, type Locator, type Page } from "playwright-core";
import { Profile } from "../../../scripts/editor.mjs";

/** Where the extension under test, the browser and a Python with torch are: said by scripts/test-extension.mjs. */
const VSIX = needed("GRADSENSE_VSIX");
const BROWSER = needed("GRADSENSE_BROWSER");
export const PYTHON = needed("GRADSENSE_PYTHON");
const SHOTS = needed("GRADSENSE_SHOTS");

const LONG = 60_000;
const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
const MORE_ARGS = ["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"];

export interface Options {
  /** The files of the folder that is opened. */
  files: Record<string, string>;
  settings?: Record<string, unknown>;
  /** Whether the folder is trusted from the start. */
  trusted?: boolean;
  viewport?: { width: number; height: number };
  /** Environment variables of the editor, besides those there are. */
  env?: Record<string, string>;
  /** Folders of extensions that run besides the packaged one. */
  develop?: string[];
  /** A suite to run inside the extension host. */
  suite?: string;
  /** The file among `files` that says which folders are opened, where there are several. */
  workspace?: string;
}

export class Editor {
  private constructor(
    readonly page: Page,
    readonly folder: string,
    private readonly context: BrowserContext,
    private readonly endServer: () => Promise<void>,
    readonly place: string,
    private readonly profile: Profile,
    /** Resolves with what a suite inside the extension host ended with, and what it said. */
    readonly suiteEnded: Promise<{ code: number; said: string }>,
  ) {}

  /** Starts an editor with the packaged extension in a clean profile, on a fresh folder. */
  static async open(options: Options): Promise<Editor> {
    const place = mkdtempSync(join(tmpdir(), "gradsense-browser-"));
    const folder = join(place, "work");
    for (const [name, text] of Object.entries(options.files)) {
      mkdirSync(join(folder, name, ".."), { recursive: true });
      writeFileSync(join(folder, name), text, { mode: 0o755 });
    }
    const profile = new Profile(join(place, "profile"));
    profile.configure(settingsOf(options));
    profile.install(VSIX);
    const server = await profile.serve(0, options.env);
    const context = await chromium.launchPersistentContext(join(place, "browser"), {
      executablePath: BROWSER,
      headless: true,
      viewport: options.viewport ?? { width: 1280, height: 800 },
      args: [...ARGS, ...MORE_ARGS],
    });
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.origin });
    const page = context.pages()[0] ?? (await context.newPage());
    const editor = new Editor(page, folder, context, server.end, place, profile, suiteIn(page));
    const { workspace } = options;
    const query = {
      ...payloadOf(options, server.origin),
      ...(workspace ? { workspace: join(folder, workspace) } : {}),
    };
    await page.goto(server.url(workspace ? "" : folder, query));
    await page.waitForSelector(".monaco-workbench", { timeout: LONG });
    await page.waitForSelector(".explorer-folders-view .monaco-list-row", { timeout: LONG });
    return editor;
  }

  /** Changes the user's settings; a window that is loaded from then on has them. */
  configure(settings: Record<string, unknown>): void {
    this.profile.configure(settingsOf({ files: {}, settings }));
  }

  async close(): Promise<void> {
    await this.context.close();
    await this.endServer();
    rmSync(this.place, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Runs a test's steps; where they fail, what was on the screen is kept. */
  async watch(name: string, steps: () => Promise<void>): Promise<void> {
    try {
      await steps();
    } catch (error) {
      await this.shot(`failed-${name.replace(/\W+/g, "-")}`);
      throw error;
    }
  }

  /** Keeps a picture of what is on the screen. */
  async shot(name: string, clip?: { x: number; y: number; width: number; height: number }): Promise<void> {
    mkdirSync(SHOTS, { recursive: true });
    await this.page.screenshot({ path: join(SHOTS, `${name}.png`), ...(clip ? { clip } : {}) });
  }

  /** Opens a file from the explorer, and waits for its text. */
  async openFile(name: string): Promise<void> {
    const notebook = name.endsWith(".ipynb");
    await this.eventually(async () => {
      await this.page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).dblclick();
      const shown = notebook ? ".notebook-editor .cell-list-container" : ".editor-instance .view-line";
      try {
        await this.page.waitForSelector(shown, { timeout: 8_000 });
      } catch (error) {
        // Before VS Code has read what its extensions bring, it takes a notebook for text.
        if (notebook) await this.command("View: Close Editor");
        throw error;
      }
    });
  }

  /** Opens a file by its name. */
  async quickOpen(name: string): Promise<void> {
    await this.page.keyboard.press("Control+p");
    await this.page.waitForSelector(".quick-input-widget:visible");
    await this.page.keyboard.type(name);
    await this.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: name }).waitFor();
    await this.page.keyboard.press("Enter");
    await this.page.waitForSelector(".quick-input-widget", { state: "hidden" });
  }

  /** Runs a command by its title, from the palette. */
  async command(title: string): Promise<void> {
    await this.page.keyboard.press("F1");
    await this.page.waitForSelector(".quick-input-widget:visible");
    await this.page.keyboard.type(title);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().waitFor();
    await this.page.keyboard.press("Enter");
  }

  /** Puts the cursor at a line and column, counted from 1. */
  async goTo(line: number, column = 1): Promise<void> {
    await this.page.keyboard.press("Control+g");
    await this.page.waitForSelector(".quick-input-widget:visible");
    await this.page.keyboard.type(`${line}:${column}`);
    await this.page.keyboard.press("Enter");
    await this.page.waitForSelector(".quick-input-widget", { state: "hidden" });
  }

  /** Rests the mouse on a word of a line. */
  async hover(line: string, word: string, within?: string): Promise<void> {
    const box = await this.line(line, within).locator("span", { hasText: word }).last().boundingBox();
    if (!box) throw new Error(`"${word}" is not on the screen`);
    await this.page.mouse.move(box.x + 4, box.y + box.height / 2);
    await this.page.mouse.move(box.x + 6, box.y + box.height / 2);
  }

  /** Waits until words are shown at the end of a line. */
  async tells(words: string): Promise<void> {
    const shown = (wanted: string) =>
      [...document.querySelectorAll(".view-line span")].some((span) =>
        getComputedStyle(span, "::after").content.includes(wanted),
      );
    await this.page.waitForFunction(shown, words);
  }

  /** The lines that have an icon in the margin, from top to bottom: number and name of the picture, "15 saved". */
  async icons(within = ".editor-instance"): Promise<string[]> {
    return this.page.evaluate(linesWithIcons, within);
  }

  /** The line of the editor that shows a text. */
  line(text: string, within = ".monaco-editor"): Locator {
    return this.page.locator(`${within} .view-line`, { hasText: text }).first();
  }

  /** What the squiggles of a severity stand under, word for word, from left to right and top to bottom. */
  async underlined(kind: "error" | "warning" | "info", within = ".editor-instance"): Promise<string[]> {
    return this.page.evaluate(underlinedWords, { within, kind });
  }

  /** Waits until words have a squiggle. */
  async squiggle(words: string, kind: "error" | "warning" | "info", within?: string): Promise<void> {
    await this.eventually(async () => {
      const found = await this.underlined(kind, within);
      if (!found.includes(words)) throw new Error(`squiggles (${kind}) under ${JSON.stringify(found)}, not "${words}"`);
    });
  }

  /** Waits until no squiggle of a kind is left under words. */
  async noSquiggle(words: string, kind: "error" | "warning" | "info", within?: string): Promise<void> {
    await this.eventually(async () => {
      if ((await this.underlined(kind, within)).includes(words)) throw new Error(`still a squiggle under "${words}"`);
    });
  }

  /**
   * Opens the menu of quick fixes at the cursor.
   *
   * A moment after the cursor or a squiggle moved, VS Code asks for fixes by itself, and drops what it was asked for
   * before and has no answer to yet: it says then that there is none, and a person asks again.
   */
  async openFixes(): Promise<void> {
    await this.eventually(async () => {
      await this.page.keyboard.press("Control+.");
      await this.page.waitForSelector(".action-widget", { timeout: 5_000 });
    });
  }

  /** Opens the menu of quick fixes at the cursor and picks one; the first is picked with Enter, as people do. */
  async fix(title: string): Promise<void> {
    await this.openFixes();
    const row = this.page.locator(".action-widget .monaco-list-row.focused", { hasText: title });
    for (let step = 0; step < 20 && !(await row.count()); step++) {
      await this.page.waitForTimeout(150);
      if (await this.page.locator(".action-widget .monaco-list-row.focused").count()) {
        if (await row.count()) break;
        await this.page.keyboard.press("ArrowDown");
      }
    }
    await row.waitFor();
    await this.page.keyboard.press("Enter");
    await this.page.waitForSelector(".action-widget", { state: "hidden" });
  }

  /** Saves, and waits until the file on disk holds a text. */
  async save(name: string, text: string): Promise<void> {
    await this.page.keyboard.press("Control+s");
    await this.eventually(async () => {
      if (!this.read(name).includes(text)) throw new Error(`${name} has no "${text}":\n${this.read(name)}`);
    });
  }

  /** The inlay hints on the screen. */
  hints(within = ".monaco-editor"): Promise<string[]> {
    const content = (elements: Element[]) =>
      elements.map(
        (span) =>
          `${getComputedStyle(span, "::after").content}${getComputedStyle(span, "::before").content}${span.textContent}`,
      );
    return this.page.locator(`${within} .view-line span[class*="dyn-rule"]`).evaluateAll(content);
  }

  /** The page inside our webview. */
  webview(): FrameLocator {
    return this.page.frameLocator('iframe.webview.ready[src*="extensionId=gradsense"]').frameLocator("#active-frame");
  }

  /** A file as it is on disk. */
  read(name: string): string {
    return readFileSync(join(this.folder, name), "utf8");
  }

  /** The notification that holds a text. */
  notification(text: string | RegExp): Locator {
    return this.page.locator(".notifications-toasts .notification-list-item", { hasText: text }).first();
  }

  /** Tries again until it works, or for too long. */
  async eventually<T>(attempt: () => Promise<T>, limit = LONG): Promise<T> {
    const deadline = Date.now() + limit;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (Date.now() > deadline) throw error;
        await this.page.waitForTimeout(150);
      }
    }
  }
}

function settingsOf({ settings = {}, trusted = true }: Options): Record<string, unknown> {
  return {
    "gradsense.interpreter": PYTHON,
    "git.enabled": false,
    "editor.minimap.enabled": false,
    "window.commandCenter": false,
    "workbench.colorTheme": "Default Dark Modern",
    ...(trusted
      ? { "security.workspace.trust.enabled": false }
      : { "security.workspace.trust.startupPrompt": "never" }),
    ...settings,
  };
}

/** What VS Code's own test driver hands to the page, in the words of a page. */
function payloadOf({ suite, develop = [] }: Options, origin: string): Record<string, string> {
  const remote = (path: string) => `vscode-remote://${new URL(origin).host}${path}`;
  const payload = develop.map((path) => ["extensionDevelopmentPath", remote(path)]);
  if (suite) payload.push(["extensionTestsPath", remote(suite)]);
  return payload.length > 0 ? { payload: JSON.stringify(payload) } : {};
}

function suiteIn(page: Page): Promise<{ code: number; said: string }> {
  const said: string[] = [];
  return new Promise((resolve, reject) => {
    const log = page.exposeFunction("codeAutomationLog", (kind: string, words: unknown[]) =>
      said.push([kind, ...words].join(" ")),
    );
    const exit = page.exposeFunction("codeAutomationExit", (code: number) => resolve({ code, said: said.join("\n") }));
    Promise.all([log, exit]).catch(reject);
  });
}

/** Runs in the page: the text that lies above each squiggle. */
function underlinedWords({ within, kind }: { within: string; kind: string }): string[] {
  const found: [number, number, string][] = [];
  for (const mark of document.querySelectorAll(`${within} .squiggly-${kind}`)) {
    const box = mark.getBoundingClientRect();
    const middle = box.top + box.height / 2;
    for (const line of mark.closest(".monaco-editor")?.querySelectorAll(".view-line") ?? []) {
      const at = line.getBoundingClientRect();
      if (middle < at.top || middle > at.bottom) continue;
      const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
      let words = "";
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const text = node.textContent ?? "";
        for (let index = 0; index < text.length; index++) {
          const range = document.createRange();
          range.setStart(node, index);
          range.setEnd(node, index + 1);
          const char = range.getBoundingClientRect();
          const center = char.left + char.width / 2;
          if (center >= box.left && center <= box.right) words += text[index];
        }
      }
      found.push([box.top, box.left, words.replaceAll("\u00a0", " ")]);
    }
  }
  return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, , words]) => words);
}

/** Runs in the page: the number beside each icon, and its name; one that has no picture does not count. */
function linesWithIcons(within: string): string[] {
  const icons = [...document.querySelectorAll(`${within} .margin .cgmr`)].flatMap((icon) => {
    const name = /(?:%2F|\/)(\w+)\.svg/.exec(getComputedStyle(icon).backgroundImage)?.[1];
    return name ? [{ top: icon.getBoundingClientRect().top, name }] : [];
  });
  return [...document.querySelectorAll(`${within} .margin .line-numbers`)]
    .map((number) => ({ top: number.getBoundingClientRect().top, text: number.textContent?.trim() ?? "" }))
    .sort((a, b) => a.top - b.top)
    .flatMap(({ top, text }) =>
      icons.filter((icon) => Math.abs(icon.top - top) < 3).map(({ name }) => `${text} ${name}`),
    );
}

function needed(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run these tests by npm test`);
  return value;
}
