//! word_count: counts lines, words and bytes of the files of a folder as wc(1) does, each file in
//! a task of its own. The run's input is the folder's path, a JSON string.
//!
//!     list_files ──▶ count (map) ──▶ total

#[macro_use]
mod pgflow;
mod json;

use pgflow::{level, Call, Failure, Module, Names, Outcome, Step};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};

/// Lines, words and bytes.
type Counts = [u64; 3];

/// A file that is not there, or that may not be read, stays so; anything else may pass. Paths come
/// from who started the run: they are no secret.
fn failure(path: &str, error: &io::Error) -> Failure {
    let why = format!("cannot read '{}': {}", path, error);
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied => Failure::Permanent(why),
        _ => Failure::Retry(why),
    }
}

/// The path that is a JSON string.
fn path(json: &str) -> Result<String, Failure> {
    json::text(json).ok_or_else(|| Failure::Permanent("start the run with the path of a folder, a string".into()))
}

/// The regular files of the folder, by name; JSON has no way to say a name that is no UTF-8.
fn files(folder: &str) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if let (true, Some(path)) = (path.is_file(), path.to_str()) {
            files.push(path.to_string());
        }
    }
    files.sort();
    Ok(files)
}

/// The run's input, a folder. Gives the paths of its files.
fn list_files(call: &Call) -> Outcome {
    let folder = path(call.flow_input())?;
    let files = files(&folder).map_err(|error| failure(&folder, &error))?;
    let list: Vec<String> = files.iter().map(|file| json::quoted(file)).collect();
    Ok(format!("[{}]", list.join(",")))
}

/// In pieces, so that a file may be larger than memory; `stop` is asked before each.
fn count_of(mut from: impl Read, stop: impl Fn() -> bool) -> io::Result<Option<Counts>> {
    let mut counts = [0; 3];
    let mut in_word = false;
    let mut piece = vec![0; 1 << 16];
    while !stop() {
        let size = match from.read(&mut piece) {
            Ok(0) => return Ok(Some(counts)),
            Ok(size) => size,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        for byte in &piece[..size] {
            let space = matches!(byte, b' ' | b'\t'..=b'\r');
            counts[0] += u64::from(*byte == b'\n');
            counts[1] += u64::from(!space && !in_word);
            in_word = !space;
        }
        counts[2] += size as u64;
    }
    Ok(None)
}

/// One element of what list_files gave. Gives [lines, words, bytes].
fn count(call: &Call) -> Outcome {
    let file = path(call.input())?;
    let counts = File::open(&file).and_then(|open| count_of(open, || call.is_cancelled()));
    match counts.map_err(|error| failure(&file, &error))? {
        Some([lines, words, bytes]) => Ok(format!("[{},{},{}]", lines, words, bytes)),
        None => Err(Failure::Cancelled),
    }
}

fn total(call: &Call) -> Outcome {
    let rows = json::rows(call.input(), "count").ok_or_else(|| Failure::Permanent("not what count gave".into()))?;
    let sum = |i: usize| rows.iter().map(|row| row[i]).sum::<u64>();
    call.log(level::INFO, &format!("{} files", rows.len()));
    Ok(format!("{{\"files\":{},\"lines\":{},\"words\":{},\"bytes\":{}}}", rows.len(), sum(0), sum(1), sum(2)))
}

static AFTER_LIST: Names<1> = Names::of([text!("list_files")]);
static AFTER_COUNT: Names<1> = Names::of([text!("count")]);

static STEPS: [Step; 3] = [
    Step::new(text!("list_files"), handler!(list_files)),
    Step::new(text!("count"), handler!(count)).map().after(&AFTER_LIST),
    Step::new(text!("total"), handler!(total)).after(&AFTER_COUNT),
];

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static pgflow_module_v1: Module = Module::new(text!("word_count"), &STEPS).version(text!("1.0.0"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_words_across_pieces_and_without_a_last_newline() {
        let text = "a ".repeat(40_000) + "\u{e9}t\u{e9}\tb\nlast";

        assert_eq!(count_of(text.as_bytes(), || false).unwrap(), Some([1, 40_003, 80_012]));
        assert_eq!(count_of(&b""[..], || false).unwrap(), Some([0, 0, 0]));
    }

    #[test]
    fn stops_when_asked_to() {
        assert_eq!(count_of(io::repeat(b'a'), || true).unwrap(), None);
    }

    #[test]
    fn reads_back_the_texts_that_it_quotes() {
        for text in ["", "plain", "q\"b\\s/\n\t\u{1}\u{e9}\u{1f600}"] {
            assert_eq!(json::text(&json::quoted(text)).as_deref(), Some(text));
        }
        assert_eq!(json::text("\"a\\u0041\\b\""), Some("aA\u{8}".to_string()));
        for wrong in ["3", "\"", "\"a\" \"b\"", "\"\\x\"", "\"\\u12\"", "\"\\u+123\""] {
            assert_eq!(json::text(wrong), None, "{}", wrong);
        }
    }

    #[test]
    fn reads_rows_of_three_numbers_only() {
        assert_eq!(json::rows("{\"count\": [[1, 2, 3], [4, 5, 6]]}", "count"), Some(vec![[1, 2, 3], [4, 5, 6]]));
        assert_eq!(json::rows("{\"count\": []}", "count"), Some(vec![]));
        for wrong in ["[]", "{\"other\": []}", "{\"count\": [[1, 2]]}", "{\"count\": [[1, 2, 3] [4, 5, 6]]}"] {
            assert_eq!(json::rows(wrong, "count"), None, "{}", wrong);
        }
    }
}
