// A dialog of the browser: it keeps the focus, closes with Escape and covers the rest of the page.

import { type ReactNode, useEffect, useId, useRef } from "react";

interface DialogProps {
  readonly title: string;
  readonly hidesTitle?: boolean;
  readonly className?: string;
  readonly children: ReactNode;
  onClose(): void;
}

export function Dialog({ title, hidesTitle = false, className = "", children, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const { activeElement } = document;
    dialog.current?.showModal();
    // What the dialog is about may come after its other fields.
    dialog.current?.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => {
      if (activeElement instanceof HTMLElement) activeElement.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, by the browser itself.
    <dialog
      ref={dialog}
      className={`dialog ${className}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <h2 id={id} className={hidesTitle ? "sr-only" : ""}>
        {title}
      </h2>
      {children}
    </dialog>
  );
}
