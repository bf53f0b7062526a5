-- Requests from a file, whose lines have a path, or a path and a body. Prints the result as a line of JSON.
local requests, at = {}, 0
function init(args)
  for line in io.lines(args[1]) do
    local path, body = line:match("^(%S+) (.+)$")
    if body then wrk.headers["content-type"] = "application/json" end
    requests[#requests + 1] = body and wrk.format("POST", path, nil, body) or wrk.format("GET", line)
  end
end
function request()
  at = at % #requests + 1
  return requests[at]
end
function done(summary)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout + errors.status
  io.write(string.format('\n{"count":%d,"seconds":%f,"failed":%d}\n', summary.requests, summary.duration / 1e6, failed))
end
