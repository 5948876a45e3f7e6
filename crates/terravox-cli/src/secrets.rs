//! The one place that keeps the passwords of arguments out of what the program prints: of its
//! reports, failures and log.
//!
//! They are given in addresses and as tokens; so whatever text an argument gets into, also one of a
//! library, loses them here. What comes from the environment gets into no text.

use serde_json::Value;
use std::sync::LazyLock;

/// What is printed in place of a password.
const HIDDEN: &str = "***";

/// Schemes of addresses, for those in which the slashes are missing.
const SCHEMES: [&str; 7] = ["postgres", "postgresql", "s3", "http", "https", "ws", "wss"];

/// What can be between the scheme and the rest, also in addresses that are misspelt.
const SEPARATORS: [&str; 5] = ["://", "//", ":/", ":", "/"];

/// Longest token that may be a word of a message, in bytes.
const MAX_PLAIN_WORD: usize = 12;

/// Parameters of addresses that are passwords.
const SECRET_PARAMETERS: [&str; 2] = ["password", "sslpassword"];

/// An argument with a password.
#[derive(Debug, PartialEq, Eq)]
struct SecretArgument {
    /// An address as it was given, and as it is shown.
    address: Option<(String, String)>,
    words: Vec<String>,
}

/// Those of this process.
static SECRETS: LazyLock<Vec<SecretArgument>> = LazyLock::new(|| {
    secrets_of(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()))
});

/// Returns `text` without passwords.
pub fn redacted(text: &str) -> String {
    without(text, &SECRETS)
}

/// The same in all strings of a JSON value.
pub fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => *text = redacted(text),
        Value::Array(values) => values.iter_mut().for_each(redact_value),
        Value::Object(fields) => fields.values_mut().for_each(redact_value),
        _ => {}
    }
}

fn secrets_of(arguments: impl Iterator<Item = String>) -> Vec<SecretArgument> {
    let (mut secrets, mut is_token) = (Vec::new(), false);
    for word in arguments {
        let is_value = std::mem::replace(&mut is_token, word == "--token");
        if let Some(token) = word.strip_prefix("--token=").or(is_value.then_some(&*word)) {
            // The right and the name around it are no secrets, but a mistake may be in any part.
            let words = [token].into_iter().chain(token.split(':').nth(1));
            let words = words.filter(|word| !word.is_empty()).map(str::to_owned);
            secrets.push(SecretArgument { address: None, words: words.collect() });
        } else {
            secrets.extend(secret_of(&word));
        }
    }
    secrets
}

fn is_scheme(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+-.".contains(c)
}

/// The password of an address in an argument, also of one that is misspelt.
fn secret_of(word: &str) -> Option<SecretArgument> {
    let start = word.find('=').filter(|_| word.starts_with('-')).map_or(0, |at| at + 1);
    let (scheme, separator, _) = split_scheme(&word[start..]);
    let is_known = SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme));
    let start = match is_known && !separator.is_empty() {
        true => start,
        // A scheme that is misspelt, but for its slashes.
        false => {
            let before = &word[..word.find("//")?];
            before.strip_suffix(':').unwrap_or(before).trim_end_matches(is_scheme).len()
        }
    };
    let address = &word[start..];
    let AddressParts { credentials, parameters, .. } = AddressParts::of(address);
    let password = credentials.split_once(':').map(|(_, password)| password);
    let parameters = parameters.split('&').filter_map(|part| part.split_once('='));
    let parameters = parameters.filter(|(name, _)| SECRET_PARAMETERS.contains(name));
    let words = password.into_iter().chain(parameters.map(|(_, value)| value));
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let address = Some((address.to_owned(), shown_address(address)));
    (!words.is_empty()).then_some(SecretArgument { address, words })
}

/// An address as its scheme, what follows that, and the rest.
fn split_scheme(address: &str) -> (&str, &str, &str) {
    let (scheme, rest) =
        address.split_at(address.find(|c: char| !is_scheme(c)).unwrap_or(address.len()));
    let separator = SEPARATORS.iter().find(|separator| rest.starts_with(**separator));
    let (separator, rest) = rest.split_at(separator.map_or(0, |separator| separator.len()));
    (scheme, separator, rest)
}

/// Where the user and the password of an address end, of which the scheme and passwords among the
/// parameters were cut off: at the last `@`, since a password may have any characters. Without
/// a password, an `@` in the name of the world does not count.
fn credentials_end(text: &str) -> Option<usize> {
    let (first, last) = (text.find('@')?, text.rfind('@')?);
    let is_in_name = |(place, _): (&str, &str)| {
        let host = place.split(['/', '?']).next().unwrap_or_default();
        let port = host.rsplit_once(':').map_or("", |(_, port)| port);
        place.contains('/') && port.bytes().all(|digit| digit.is_ascii_digit())
    };
    let is_in_name = !text[..first].contains(':')
        && !text[last..].contains(['/', '?', '#'])
        && text[first..last].split_once('#').is_some_and(is_in_name);
    Some(if is_in_name { first } else { last })
}

struct AddressParts<'a> {
    /// The scheme, and what is between it and the rest.
    scheme: &'a str,
    /// User and password.
    credentials: &'a str,
    place: &'a str,
    parameters: &'a str,
    name: &'a str,
}

impl AddressParts<'_> {
    fn of(address: &str) -> AddressParts<'_> {
        let (_, separator, rest) = split_scheme(address);
        let end = if separator.is_empty() { 0 } else { address.len() - rest.len() };
        let (scheme, rest) = address.split_at(end);
        let parameter = SECRET_PARAMETERS.iter().flat_map(|name| {
            ["?", "&"].map(|sign| rest.find(&format!("{sign}{name}=")).unwrap_or(rest.len()))
        });
        let end = parameter.min().and_then(|end| credentials_end(&rest[..end]));
        let (credentials, rest) = end.map_or(("", rest), |at| (&rest[..at], &rest[at + 1..]));
        let (rest, name) = rest.rsplit_once('#').unwrap_or((rest, ""));
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        AddressParts { scheme, credentials, place, parameters, name }
    }
}

/// An address without its password and parameters.
pub fn shown_address(address: &str) -> String {
    let AddressParts { scheme, credentials, place, name, .. } = AddressParts::of(address);
    // Keys do not belong in addresses of S3.
    let user = credentials.split(':').next().filter(|_| scheme != "s3://").unwrap_or_default();
    let sign = |of: &str, sign: &'static str| if of.is_empty() { "" } else { sign };
    // What was taken for a password may be the place, and an @ that of a name.
    let is_doubtful = credentials.contains(':')
        && credentials.contains('#')
        && name.is_empty()
        && !place.contains('/');
    let user = if is_doubtful { format!("{user}:{HIDDEN}") } else { user.to_owned() };
    format!("{scheme}{user}{}{place}{}{name}", sign(&user, "@"), sign(name, "#"))
}

fn without(text: &str, secrets: &[SecretArgument]) -> String {
    let mut text = text.to_owned();
    for SecretArgument { address, words } in secrets {
        if let Some((address, shown)) = address {
            text = text.replace(address, shown);
        }
        for word in words {
            text = text.replace(&format!(":{word}@"), "@");
            match address {
                // Messages have such words; they quote arguments.
                None if is_plain(word) => {
                    for mark in ["'", "\"", ":", "="] {
                        text = hide_word(&text, &format!("{mark}{word}"), mark);
                    }
                }
                // A user may be named like the password.
                Some((_, shown)) if shown.contains(word) => {}
                _ => text = hide_word(&text, word, ""),
            }
        }
    }
    text
}

/// Whether a token may be a word of a message.
fn is_plain(token: &str) -> bool {
    token.len() <= MAX_PLAIN_WORD && token.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Hides a word, which is not empty, where it stands for itself, but for the mark that it begins
/// with.
fn hide_word(text: &str, word: &str, mark: &str) -> String {
    debug_assert!(!word.is_empty(), "an empty word is everywhere");
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(word) {
        let (before, behind) = (&rest[..at], &rest[at + word.len()..]);
        let is_joined = |next: Option<char>, own: Option<char>| {
            next.is_some_and(char::is_alphanumeric) && own.is_some_and(char::is_alphanumeric)
        };
        let last = before.chars().next_back().or(out.chars().next_back());
        let is_part = is_joined(last, word.chars().next())
            || is_joined(behind.chars().next(), word.chars().next_back());
        out += before;
        match is_part {
            true => out += word,
            false => out.extend([mark, HIDDEN]),
        }
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, arguments: &[&str]) -> String {
        without(text, &secrets_of(arguments.iter().map(|word| (*word).to_owned())))
    }

    #[test]
    fn passwords_of_addresses_are_in_no_text() {
        let passwords = ["secret", "se cret", "a:b/c?d#e@f", "p\"w'", "x", "ä-ö", "%40"];
        for password in passwords {
            for address in [
                format!("postgres://me:{password}@db/worlds#caves"),
                format!("postgress://me:{password}@db/worlds#caves"),
                format!("postgres:me:{password}@db/worlds#caves"),
                format!("postgres:/me:{password}@db/worlds#caves"),
                format!("postgres//me:{password}@db/worlds#caves"),
                format!("postgres/me:{password}@db/worlds#caves"),
                format!("Postgres:me:{password}@db/worlds#caves"),
                format!("postgers//me:{password}@db/worlds#caves"),
                format!("ws://me:{password}@server:7777"),
                format!("s3://key:{password}@bucket/hills"),
                format!("https://:{password}@db"),
            ] {
                for argument in [address.clone(), format!("--to={address}")] {
                    let given = [&*argument];
                    for text in [
                        address.clone(),
                        format!("cannot use '{address}': the port {password}@db is wrong"),
                        format!("invalid value '{address}' for '<ADDRESS>': me:{password}@db"),
                        format!("the password \"{password}\" is wrong"),
                    ] {
                        let shown = shown(&text, &given);
                        let alone = format!("{password}@");
                        assert!(!shown.contains(&alone), "{shown}");
                        assert!(password.len() < 2 || !shown.contains(password), "{shown}");
                    }
                }
            }
        }
        let address = "postgres://db/w?user=me&password=secret#caves";
        assert_eq!(shown(&format!("at {address}."), &[address]), "at postgres://db/w#caves.");
        assert_eq!(shown("bad password=secret", &[address]), "bad password=***");
        for address in
            ["postgres://db/w?password=p@ss#caves", "postgres://u@db/w?a=b&password=p@s#c"]
        {
            let shown = shown(&format!("at {address}"), &[address]);
            assert!(!shown.contains("p@s") && !shown.contains("ss#"), "{shown}");
        }
    }

    #[test]
    fn what_is_no_password_stays() {
        let address = "postgres://postgres:postgres@localhost/postgres#caves";
        let shown_address = "postgres://postgres@localhost/postgres#caves";
        assert_eq!(
            shown(&format!("{address}: no world"), &[address]).as_str(),
            format!("{shown_address}: no world")
        );
        let text = "the secretary of secret.tvx saw C:\\a@b and a@b:c#d.tvx";
        let other = ["postgres://me:see@db/w#a", "C:\\a@b", "a@b:c#d.tvx", "postgres", "x"];
        assert_eq!(shown(text, &other), text);
        assert_eq!(shown(text, &["postgres://me:secret@db"]), text.replace("secret.", "***."));
    }

    #[test]
    fn tokens_are_hidden_too() {
        let text = "invalid value 'edt:apple7:Ann' for '--token': apple7 is no right";
        for arguments in [&["--token", "edt:apple7:Ann"][..], &["--token=edt:apple7:Ann"]] {
            let expected = "invalid value '***' for '--token': *** is no right";
            assert_eq!(shown(text, arguments), expected);
        }
        assert_eq!(shown("apple7", &["--token", "apple7"]), HIDDEN);
        for arguments in [&["--token", ""][..], &["--token="], &["--token", "edit::Ann"]] {
            assert_eq!(shown("an apple", arguments), "an apple");
        }
    }

    #[test]
    fn tokens_that_are_words_are_hidden_where_arguments_are_quoted() {
        let text = "'1,,2' is not a number; see terravox join --help";
        for token in ["see", "a", "not", "join", "number", "edit:see:help"] {
            assert_eq!(shown(text, &["--token", token]), text);
        }
        let quoted = "unexpected 'see', \"see\", --token=see and edit:see:Ann; see the seeds";
        let expected = "unexpected '***', \"***\", --token=*** and edit:***:Ann; see the seeds";
        assert_eq!(shown(quoted, &["--token", "see"]), expected);
        // What is no word of a message is hidden anywhere.
        for token in ["See", "see1", "afineandlongone", "1"] {
            assert_eq!(shown(&format!("so, {token} it"), &["--token", token]), "so, *** it");
        }
    }

    #[test]
    fn an_at_in_the_name_of_a_world_garbles_no_address() {
        for address in ["postgres://me@db:5432/w#caves@1", "postgres://me@db/w#caves@1"] {
            let text = format!("{address}: a name has no @");
            assert_eq!(shown(&text, &[address]), text);
            assert_eq!(shown_address(address), address);
        }
        // Here it may end a password.
        let address = "postgres://me:se@db/w#caves@1";
        assert_eq!(shown_address(address), "postgres://me:***@1");
        for address in ["postgres://me@db:se/cr#et@db/w#a", "postgres://me@x:se/cr#et@db"] {
            let shown = shown_address(address);
            assert!(!shown.contains("cr") && !shown.contains("et"), "{shown}");
        }
    }
}
