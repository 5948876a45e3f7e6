//! The words and numbers of text formats.

use super::error::shown;

/// The words of a line, without the backslashes that continue it.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = line.split(|byte| byte.is_ascii_whitespace() || *byte == b'\\');
    words.filter(|word| !word.is_empty())
}

/// Reads three numbers.
pub(super) fn three<'a>(words: &mut impl Iterator<Item = &'a [u8]>) -> Result<[f64; 3], String> {
    let mut next = || {
        let word = words.next().ok_or("a vertex has fewer than three coordinates")?;
        number(word).ok_or_else(|| format!("{} is not a number", shown(word)))
    };
    Ok([next()?, next()?, next()?])
}

/// Reads a number.
pub(super) fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}
