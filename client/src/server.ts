// The language server's life: started, watched, started again when it ends by itself, told about settings.

import * as vscode from "vscode";
import {
  CloseAction,
  DidChangeConfigurationNotification,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  type Middleware,
  RevealOutputChannelOn,
  State,
} from "vscode-languageclient/node";
import { Backoff } from "./backoff";
import type { Python } from "./choosing";
import type { Interpreters } from "./interpreter";
import { launchOf } from "./launch";
import { log, textOf } from "./logging";
import { DOCUMENTS } from "./selectors";
import { forServer, SECTION, setting } from "./settings";

/** How the server is, for the status item. */
export type Health =
  | { state: "off" | "starting" | "failed" | "noInterpreter" }
  | { state: "ready"; version: string; python: string }
  | { state: "down"; retryMs: number };

const STOP_MS = 3_000;
/** Settings after whose change another server is needed. */
const NEED_RESTART = ["interpreter", "importStrategy", "path"];

/** Writes its troubles to the log and nowhere else: what a person must know, `Server` tells them. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** The one server of this window, for all its folders. */
export class Server implements vscode.Disposable {
  private readonly healthChanged = new vscode.EventEmitter<Health>();
  private readonly clientMade = new vscode.EventEmitter<LanguageClient>();
  private readonly backoff = new Backoff();
  private readonly watches: vscode.Disposable;
  private readonly programs = new Map<string, Promise<readonly string[] | undefined>>();
  private running: LanguageClient | undefined;
  private retry: NodeJS.Timeout | undefined;
  private work: Promise<void> = Promise.resolve();
  private now: Health = { state: "off" };
  private python: Python | undefined;

  readonly onDidChangeHealth = this.healthChanged.event;
  /** A client is about to start: the time to listen to its notifications. */
  readonly onDidMakeClient = this.clientMade.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly interpreters: Interpreters,
  ) {
    this.watches = vscode.Disposable.from(
      interpreters.onDidChange(() => void this.anotherInterpreter()),
      vscode.workspace.onDidChangeConfiguration((change) => this.settingsChanged(change)),
    );
  }

  /** How the server is at the moment. */
  get health(): Health {
    return this.now;
  }

  /** The process number of the server, while there is one. */
  get pid(): number | undefined {
    return this.running?.serverProcess?.pid;
  }

  /** The client, while the server answers. */
  get client(): LanguageClient | undefined {
    return this.now.state === "ready" ? this.running : undefined;
  }

  /** Starts the server, after whatever else is under way with it. */
  start(): Promise<void> {
    return this.inTurn(() => this.launch());
  }

  /** Stops the server. */
  stop(): Promise<void> {
    return this.inTurn(() => this.end());
  }

  /** Stops the server and starts it anew. */
  restart(why: string): Promise<void> {
    log.info(`restarting the server: ${why}`);
    this.backoff.reset();
    return this.inTurn(async () => {
      await this.end();
      await this.launch();
    });
  }

  /** Resolves when the server answers. */
  ready(): Promise<void> {
    return new Promise((resolve) => {
      if (this.now.state === "ready") return resolve();
      const watch = this.onDidChangeHealth((health) => {
        if (health.state !== "ready") return;
        watch.dispose();
        resolve();
      });
    });
  }

  dispose(): void {
    clearTimeout(this.retry);
    this.watches.dispose();
    this.healthChanged.dispose();
    this.clientMade.dispose();
  }

  private inTurn(step: () => Promise<void>): Promise<void> {
    this.work = this.work.then(step, step);
    return this.work;
  }

  private async launch(): Promise<void> {
    if (this.running) return;
    clearTimeout(this.retry);
    this.become({ state: "starting" });
    this.programs.clear();
    const choice = await this.interpreters.choose(vscode.workspace.workspaceFolders?.[0]?.uri);
    const launch = await launchOf(this.context.extensionPath, choice.server);
    if (!launch) {
      this.become({ state: "noInterpreter" });
      void this.interpreters.tellNone(choice);
      return;
    }
    this.python = choice.server;
    log.info(`starting ${[launch.command, ...launch.args].join(" ")}`);
    const client = new QuietClient(
      SECTION,
      "GradSense",
      { command: launch.command, args: launch.args, options: { cwd: launch.cwd } },
      await this.options(),
    );
    this.running = client;
    this.clientMade.fire(client);
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Stopped && this.running === client && this.now.state === "ready") this.died(client);
    });
    try {
      await client.start();
    } catch (error) {
      log.error(`the server does not start: ${textOf(error)}`);
      this.died(client);
      return;
    }
    if (this.running !== client) return;
    const version = client.initializeResult?.serverInfo?.version ?? "";
    this.become({ state: "ready", version, python: this.python?.version.join(".") ?? "" });
    log.info(`the server ${version} is ready`);
  }

  private async end(): Promise<void> {
    clearTimeout(this.retry);
    const client = this.running;
    this.running = undefined;
    this.become({ state: "off" });
    if (!client) return;
    try {
      await client.dispose(STOP_MS);
    } catch (error) {
      log.debug(`the server did not stop in order: ${textOf(error)}`);
    }
  }

  /** The server ended by itself. */
  private died(client: LanguageClient): void {
    if (this.running !== client) return;
    this.running = undefined;
    client.dispose(STOP_MS).catch((error) => log.debug(textOf(error)));
    const waitMs = this.backoff.next(Date.now());
    if (waitMs === undefined) {
      this.become({ state: "failed" });
      void this.tellFailed();
      return;
    }
    log.warn(`the server ended; it is started again in ${waitMs / 1000} s`);
    this.become({ state: "down", retryMs: waitMs });
    this.retry = setTimeout(() => void this.start(), waitMs);
  }

  private async tellFailed(): Promise<void> {
    const again = "Restart";
    const show = "Show Log";
    const text = "The GradSense server ended several times within three minutes and is left alone now.";
    const answer = await vscode.window.showErrorMessage(text, again, show);
    if (answer === again) await this.restart("asked for");
    if (answer === show) log.show();
  }

  private become(health: Health): void {
    this.now = health;
    this.healthChanged.fire(health);
  }

  private async options(): Promise<LanguageClientOptions> {
    return {
      documentSelector: DOCUMENTS as never,
      outputChannel: log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: { [SECTION]: await this.settingsFor(undefined) },
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
      },
      markdown: { supportHtml: false, isTrusted: false },
      middleware: this.middleware(),
    };
  }

  private middleware(): Middleware {
    return {
      workspace: {
        configuration: async (params, token, next) => {
          const values = await next(params, token);
          if (!Array.isArray(values)) return values;
          return Promise.all(
            values.map((value, index) => {
              const item = params.items[index];
              if (item?.section !== SECTION) return value;
              return this.settingsFor(item.scopeUri ? vscode.Uri.parse(item.scopeUri) : undefined, value);
            }),
          );
        },
      },
      // The language client registers the server's commands as the editor's; this is where a code lens arrives.
      executeCommand: (command, args, next) => this.intercept?.(command, args) ?? next(command, args),
    };
  }

  /** Takes over commands of the server that need more than to be sent: returns undefined for the others. */
  intercept: ((command: string, args: unknown[]) => Promise<unknown> | undefined) | undefined;

  private async settingsFor(scope: vscode.Uri | undefined, section?: unknown): Promise<object> {
    const value = section ?? vscode.workspace.getConfiguration(SECTION, scope);
    return forServer(JSON.parse(JSON.stringify(value)), await this.program(scope), vscode.workspace.isTrusted);
  }

  /** The interpreter of the user's programs; looked up once a folder, as asking other extensions takes time. */
  private program(scope: vscode.Uri | undefined): Promise<readonly string[] | undefined> {
    const folder = scope ? vscode.workspace.getWorkspaceFolder(scope)?.uri : undefined;
    const key = folder?.toString() ?? "";
    let found = this.programs.get(key);
    if (!found) {
      found = this.interpreters.program(folder ?? scope);
      this.programs.set(key, found);
    }
    return found;
  }

  private async anotherInterpreter(): Promise<void> {
    if (!setting<unknown[]>("path")?.length) await this.restart("another interpreter was chosen");
  }

  private settingsChanged(change: vscode.ConfigurationChangeEvent): void {
    if (NEED_RESTART.some((name) => change.affectsConfiguration(`${SECTION}.${name}`))) {
      void this.restart("its settings changed");
    } else if (change.affectsConfiguration(SECTION)) {
      void this.client?.sendNotification(DidChangeConfigurationNotification.type, { settings: null });
    }
  }
}
