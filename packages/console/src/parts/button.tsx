import type { ButtonHTMLAttributes, ReactNode } from "react";
import { keyText } from "../keys/keys.ts";
import { Icon, type IconName } from "./icon.tsx";

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "type"> {
  readonly look?: "primary" | "ghost" | "danger" | "armed";
  readonly size?: "sm" | "lg";
  readonly icon?: IconName;
  /** The key that does the same. */
  readonly keys?: string | readonly string[];
  /** Why it cannot be pressed now: it stays visible, disabled, with these words. */
  readonly refused?: string | undefined;
  readonly children?: ReactNode;
}

export function Button({
  look,
  size,
  icon,
  keys,
  refused,
  children,
  className = "",
  disabled,
  title,
  ...rest
}: ButtonProps) {
  const classes = [
    "btn",
    look && `btn-${look}`,
    size && `btn-${size}`,
    children === undefined && "btn-icon",
    className,
  ];
  const isRefused = refused !== undefined;
  return (
    <button
      type="button"
      className={classes.filter(Boolean).join(" ")}
      disabled={disabled === true || isRefused}
      title={refused ?? title}
      {...rest}
    >
      {isRefused && children !== undefined ? <Icon name="lock" /> : icon && <Icon name={icon} />}
      {children}
      {[keys ?? []].flat().map((name, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same key may be shown twice, as in "a a".
        <Key key={at} name={name} />
      ))}
    </button>
  );
}

export function Key({ name }: { name: string }) {
  return <kbd className="key">{keyText(name)}</kbd>;
}
