-- A report of many lines, joined in one of two ways.
local report = {}

local function line(number)
    return "order " .. number .. ": 3 of article 4711 for 19.90, sent to customer " .. number * 7 .. "\n"
end

function report.write(joins)
    local text = ""
    if joins == "string" then
        for number = 1, 3500 do
            text = text .. line(number)
        end
    else
        local lines = {}
        for number = 1, 3500 do
            lines[number] = line(number)
        end
        text = table.concat(lines)
    end
    ngx.header["Content-Length"] = 20
    ngx.print(string.format("%19d\n", #text))
end

return report
