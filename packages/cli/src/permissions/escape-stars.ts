/** A pattern that matches this text and no other: a star in it is a star. */
export function escapeStars(text: string): string {
  return text.replace(/(\\*)\*/g, "$1$1\\*");
}
