// Signing in at a server on the web (OAuth 2.1, as in the protocol). The grant is kept in a file of the data folder
// that only its owner can read, and is renewed from there. Only `belay mcp login` asks a person: the start of the program never
// opens a browser.

import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { writing } from "../data/folders.ts";
import { makeFolder } from "../data/make-folder.ts";

export interface OAuthConfig {
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** An address that describes this client, for servers that know such. */
  readonly clientMetadataUrl?: string;
  readonly scope?: string;
  /** "client_credentials": a program signs in with its own secret or key; no person is asked. */
  readonly grant?: string;
  /** PEM, for servers that know the program by its key. */
  readonly privateKey?: string;
  readonly algorithm?: string;
  /** "true": accepts metadata that name another issuer than the address that was asked. */
  readonly skipIssuerCheck?: string;
}

interface Kept {
  readonly client?: StoredOAuthClientInformation;
  readonly tokens?: StoredOAuthTokens;
  readonly verifier?: string;
}

/** The person's way in, or the program's own. */
export async function authProviderOf(
  config: OAuthConfig,
  signIn: SignIn | undefined,
): Promise<OAuthClientProvider | undefined> {
  const { grant, clientId = "", clientSecret, privateKey, algorithm = "RS256", scope } = config;
  if (grant !== "client_credentials") return signIn;
  const { ClientCredentialsProvider, PrivateKeyJwtProvider } = await import("@modelcontextprotocol/client");
  const own = { clientId, ...(scope !== undefined && { scope }) };
  if (privateKey !== undefined) return new PrivateKeyJwtProvider({ ...own, privateKey, algorithm });
  return new ClientCredentialsProvider({ ...own, clientSecret: clientSecret ?? "" });
}

export class SignIn implements OAuthClientProvider {
  readonly #file: string;
  readonly #config: OAuthConfig;
  readonly redirectUrl: string;
  readonly clientMetadataUrl?: string;
  /** The address that the person has to open, once the server has named it. */
  page: URL | undefined;
  /** The value that must come back with the person. */
  expected: string | undefined;

  constructor(file: string, config: OAuthConfig, redirectUrl = "http://127.0.0.1/callback") {
    this.#file = file;
    this.#config = config;
    this.redirectUrl = redirectUrl;
    if (config.clientMetadataUrl !== undefined) this.clientMetadataUrl = config.clientMetadataUrl;
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: "belay",
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      ...(this.#config.scope !== undefined && { scope: this.#config.scope }),
    };
  }

  state(): string {
    this.expected = randomBytes(16).toString("hex");
    return this.expected;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    const { clientId, clientSecret } = this.#config;
    if (clientId === undefined) return this.#kept().client;
    return { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) };
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#keep({ client });
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#kept().tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#keep({ tokens });
  }

  redirectToAuthorization(page: URL): void {
    this.page = page;
  }

  saveCodeVerifier(verifier: string): void {
    this.#keep({ verifier });
  }

  codeVerifier(): string {
    return this.#kept().verifier ?? "";
  }

  invalidateCredentials(what: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    const { client, tokens, verifier } = this.#kept();
    if (what === "all") this.#write({});
    if (what === "client") this.#write({ ...(tokens && { tokens }), ...(verifier && { verifier }) });
    if (what === "tokens") this.#write({ ...(client && { client }), ...(verifier && { verifier }) });
    if (what === "verifier") this.#write({ ...(client && { client }), ...(tokens && { tokens }) });
  }

  #kept(): Kept {
    try {
      return JSON.parse(readFileSync(this.#file, "utf8")) as Kept;
    } catch {
      return {};
    }
  }

  #keep(more: Kept): void {
    this.#write({ ...this.#kept(), ...more });
  }

  #write(kept: Kept): void {
    const fresh = `${this.#file}.${randomBytes(6).toString("hex")}`;
    writing(this.#file, () => {
      makeFolder(dirname(this.#file));
      writeFileSync(fresh, JSON.stringify(kept), { mode: 0o600 });
      renameSync(fresh, this.#file);
    });
  }
}
