import { Component, type ReactNode } from "react";
import { ProblemNote } from "./states.tsx";

/** A page that fails says so in its place; the rest of the console stays. */
export class Boundary extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state: { readonly error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    return <ProblemNote error={this.state.error} onRetry={() => this.setState({ error: undefined })} />;
  }
}
