// Texts of errors.

/** What an error says. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
